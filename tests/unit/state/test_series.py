"""Engines told apart on real pages, in old and new names."""

import numpy as np
import pytest

import hostile
from cases.window import START
from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.exposition import PageParser
from whystall.state.series import split_engines


def table(*rows, scrapes=2):
    keys = tuple(SeriesKey(name, tuple(sorted(labels.items()))) for name, labels, _ in rows)
    values = np.array([np.resize(np.asarray(v, dtype=float), scrapes) for *_, v in rows]).reshape(len(rows), scrapes)
    return SeriesTable(times=START + np.arange(scrapes, dtype=float), keys=keys, values=values)


def page_table(path):
    parser = PageParser()
    page = parser.parse(path.read_bytes())
    keys = tuple(parser.keys[i] for i in page.ids)
    return SeriesTable(times=np.array([START]), keys=keys, values=page.values[:, None])


def test_two_engines_of_one_page(shared):
    engines = split_engines(page_table(shared / "samples/vllm-0.32-cpu/metrics_dp2_multiprocess_lora.prom"))
    assert [series.engine for series in engines] == [("0", "tiny"), ("1", "tiny")]
    for series in engines:
        assert series.total("prompt_tokens").tolist() == [240.0]
        assert len(series.rows("num_requests_running")) == 1
        bounds, counts = series.buckets("time_to_first_token_seconds")
        assert (np.diff(bounds) > 0).all()
        assert len(counts) == len(bounds) + 1
        assert (np.diff(counts, axis=0) >= 0).all()
        assert counts[-1] == series.total("time_to_first_token_seconds", "count")


def test_one_engine_of_a_page_with_unlabelled_series(shared):
    (series,) = split_engines(page_table(shared / "samples/vllm-0.32-cpu/metrics_single.prom"))
    assert series.engine[0] == "0"
    assert np.isfinite(series.total("process_start_time_seconds")).all()
    assert np.isfinite(series.total("cache_config_info")).all()


def test_what_carries_no_engine_belongs_to_every_engine():
    engines = split_engines(
        table(
            ("vllm:num_requests_running", {"engine": "0", "model_name": "m"}, 1),
            ("vllm:num_requests_running", {"engine": "1", "model_name": "m"}, 2),
            ("vllm:admission_rejections_total", {"model_name": "m", "reason": "max_num_queued_reqs"}, 3),
            ("process_cpu_seconds_total", {}, 4),
            ("vllm:cache_config_info", {"engine": "1", "num_gpu_blocks": "9"}, 1),
        )
    )
    assert [s.total("num_requests_running")[0] for s in engines] == [1, 2]
    assert [s.total("admission_rejections")[0] for s in engines] == [3, 3]
    assert [s.total("process_cpu_seconds")[0] for s in engines] == [4, 4]
    assert [len(s.rows("cache_config_info")) for s in engines] == [0, 1]


def test_a_page_of_v0_has_one_engine_without_a_number():
    (series,) = split_engines(
        table(
            ("vllm:num_requests_running", {"model_name": "m"}, 3),
            ("vllm:gpu_cache_usage_perc", {"model_name": "m"}, 0.5),
            ("vllm:time_per_output_token_seconds_count", {"model_name": "m"}, 7),
        )
    )
    assert series.engine == ("", "m")
    assert series.total("kv_cache_usage_perc").tolist() == [0.5, 0.5]
    assert series.total("inter_token_latency_seconds", "count").tolist() == [7, 7]


def test_replicas_of_ray_are_engines():
    rows = [
        (f"ray_vllm_{name}", {"ReplicaId": replica, "model_name": "m", "NodeAddress": "n"}, value)
        for replica, value in (("a", 1), ("b", 2))
        for name in ("num_requests_running", "generation_tokens_total")
    ]
    engines = split_engines(table(*rows))
    assert [series.engine for series in engines] == [("a", "m"), ("b", "m")]
    assert [series.total("generation_tokens")[0] for series in engines] == [1, 2]


def test_old_names_beside_new_ones_are_counted_once():
    """Versions 0.9.2 to 0.11.2 show both: summed, half a pool would look full."""
    (series,) = split_engines(hostile.with_old_names_beside(hostile.calm()).metrics)
    np.testing.assert_allclose(series.total("kv_cache_usage_perc"), 0.4)
    (alone,) = split_engines(hostile.calm().metrics)
    for name in ("prefix_cache_queries", "prefix_cache_hits"):
        np.testing.assert_array_equal(series.total(name), alone.total(name))


def test_a_table_of_nothing_we_know_has_no_engine():
    assert split_engines(table(("other_metric", {}, 1))) == []
    assert split_engines(SeriesTable.empty()) == []


def test_labels_choose_and_sums_leave_out_what_is_missing():
    (series,) = split_engines(
        table(
            ("vllm:request_success_total", {"engine": "0", "finished_reason": "stop"}, [1, np.nan, 3]),
            ("vllm:request_success_total", {"engine": "0", "finished_reason": "length"}, [10, np.nan, np.nan]),
            scrapes=3,
        )
    )
    np.testing.assert_array_equal(series.total("request_success"), [11, np.nan, 3])
    np.testing.assert_array_equal(series.total("request_success", finished_reason="length"), [10, np.nan, np.nan])
    np.testing.assert_array_equal(series.total("num_preemptions"), [np.nan] * 3)


@pytest.mark.parametrize("damaged", [-1.0, 1e300, np.inf, -np.inf, np.nan])
def test_a_damaged_value_counts_as_not_seen(damaged):
    (series,) = split_engines(table(("vllm:num_requests_running", {"engine": "0"}, [2.0, damaged])))
    np.testing.assert_array_equal(series.total("num_requests_running"), [2.0, np.nan])


def test_bounds_come_from_the_page_and_damaged_ones_are_left_out():
    rows = [
        ("vllm:time_to_first_token_seconds_bucket", {"engine": "0", "le": le}, n)
        for le, n in (("+Inf", 9), ("0.5", 3), ("x", 100), ("0.1", 1), ("1.0", 7))
    ]
    (series,) = split_engines(table(*rows))
    bounds, counts = series.buckets("time_to_first_token_seconds")
    assert bounds.tolist() == [0.1, 0.5, 1.0]
    assert counts[:, 0].tolist() == [1, 3, 7, 9]


def test_engines_stand_in_the_order_of_their_numbers():
    rows = [("vllm:num_requests_running", {"engine": str(n), "model_name": "m"}, n) for n in (10, 2, 0, 11, 1)]
    assert [series.engine[0] for series in split_engines(table(*rows))] == ["0", "1", "2", "10", "11"]
