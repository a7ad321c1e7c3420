import numpy as np
import pytest

from whystall.model.recording import SeriesKey, SeriesTable
from whystall.state.series import EngineSeries, split_engines


def table(*series: tuple[str, dict[str, str], list[float]]) -> SeriesTable:
    keys = tuple(SeriesKey(name, tuple(sorted(labels.items()))) for name, labels, _ in series)
    return SeriesTable(times=np.arange(2.0), keys=keys, values=np.array([values for _, _, values in series]))


def total(engine: EngineSeries, name: str, **labels: str) -> list[float]:
    return engine.total(name, **labels).tolist()


def test_engines_are_told_apart_by_their_label() -> None:
    one, two = split_engines(
        table(
            ("vllm:num_requests_running", {"engine": "0", "model_name": "m"}, [1, 2]),
            ("vllm:num_requests_running", {"engine": "1", "model_name": "m"}, [3, 4]),
            ("process_cpu_seconds_total", {}, [7, 8]),
        )
    )
    assert total(one, "num_requests_running") == [1, 2]
    assert total(two, "num_requests_running") == [3, 4]
    assert total(one, "process_cpu_seconds") == total(two, "process_cpu_seconds") == [7, 8]


def test_a_series_without_one_label_belongs_to_every_engine_it_does_not_contradict() -> None:
    one, two = split_engines(
        table(
            ("vllm:num_requests_running", {"engine": "0", "model_name": "m"}, [1, 1]),
            ("vllm:num_requests_running", {"engine": "1", "model_name": "m"}, [1, 1]),
            ("vllm:cache_config_info", {"engine": "1", "num_gpu_blocks": "5"}, [1, 1]),
            ("vllm:admission_rejections_total", {"model_name": "m", "reason": "max_num_queued_reqs"}, [0, 3]),
        )
    )
    assert np.isnan(one.total("cache_config_info")).all()
    assert total(two, "cache_config_info", num_gpu_blocks="5") == [1, 1]
    assert total(one, "admission_rejections") == total(two, "admission_rejections") == [0, 3]


def test_two_models_on_one_page() -> None:
    found = split_engines(
        table(
            ("vllm:num_requests_running", {"model_name": "a"}, [1, 1]),
            ("vllm:num_requests_running", {"model_name": "b"}, [2, 2]),
        )
    )
    assert [engine.engine for engine in found] == [("", "a"), ("", "b")]


def test_labels_select_and_the_rest_is_summed() -> None:
    (engine,) = split_engines(
        table(
            ("vllm:request_success_total", {"engine": "0", "finished_reason": "stop"}, [1, 2]),
            ("vllm:request_success_total", {"engine": "0", "finished_reason": "length"}, [10, 20]),
        )
    )
    assert total(engine, "request_success") == [11, 22]
    assert total(engine, "request_success", finished_reason="stop") == [1, 2]
    assert np.isnan(engine.total("request_success", finished_reason="abort")).all()


@pytest.mark.parametrize("damaged", [np.nan, -5.0, 1e30, np.inf])
def test_a_damaged_value_counts_as_not_seen(damaged: float) -> None:
    (engine,) = split_engines(table(("vllm:generation_tokens_total", {"engine": "0"}, [damaged, 4])))
    found = engine.total("generation_tokens")
    assert np.isnan(found[0])
    assert found[1] == 4


def test_buckets_in_order_of_their_bounds() -> None:
    name = "vllm:time_to_first_token_seconds_bucket"
    (engine,) = split_engines(
        table(
            (name, {"engine": "0", "le": "+Inf"}, [9, 12]),
            (name, {"engine": "0", "le": "0.5"}, [5, 6]),
            (name, {"engine": "0", "le": "0.1"}, [1, 2]),
            (name, {"engine": "0", "le": "garbage"}, [7, 7]),
        )
    )
    bounds, cumulative = engine.buckets("time_to_first_token_seconds")
    assert bounds.tolist() == [0.1, 0.5]
    assert cumulative.tolist() == [[1, 2], [5, 6], [9, 12]]


def test_a_page_of_another_program_has_no_engine() -> None:
    assert split_engines(table(("node_load1", {}, [1, 1]))) == []
