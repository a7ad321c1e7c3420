"""Files of three load generators become the same figures, and two of them a comparison that claims nothing."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import InputError, UsageError, WhystallError
from whystall.trials.results.aiperf import AiPerf
from whystall.trials.results.comparison import compare_results
from whystall.trials.results.files import read_result
from whystall.trials.results.guidellm import GuideLlm
from whystall.trials.results.result import BenchmarkResult
from whystall.trials.results.vllm_bench import VllmBench

VLLM: dict[str, Any] = {
    "model_id": "m",
    "num_prompts": 3,
    "request_rate": 4.0,
    "max_concurrency": None,
    "duration": 10.0,
    "completed": 2,
    "total_input_tokens": 30,
    "total_output_tokens": 12,
    "request_throughput": 0.2,
    "request_goodput": None,
    "output_throughput": 1.2,
    "mean_ttft_ms": 150.0,
    "median_ttft_ms": 150.0,
    "p99_ttft_ms": 199.0,
    "mean_itl_ms": 20.0,
    "median_itl_ms": 20.0,
}
DETAIL = {
    "ttfts": [0.1, 0.2, 0.0],
    "itls": [[0.02] * 5, [0.02, 0.04], []],
    "latencies": [0.2, 0.26, 0.0],
    "errors": ["", "", "boom"],
    "queue_times": [0.0, 1.0, 0.5],
}


def spread(mean: float, p95: float) -> dict[str, Any]:
    return {
        "successful": {"mean": mean, "median": mean, "count": 90, "percentiles": {"p50": mean, "p95": p95}},
        "errored": {"mean": 0.0, "median": 0.0, "count": 0, "percentiles": {}},
    }


GUIDELLM = {
    "metadata": {"version": 1},
    "benchmarks": [
        {
            "type_": "generative_benchmark",
            "duration": 60.0,
            "config": {"strategy": {"type_": "constant", "rate": 1.5}},
            "scheduler_metrics": {"requests_made": {"successful": 90, "incomplete": 2, "errored": 10, "total": 102}},
            "metrics": {
                "request_latency": spread(2.0, 3.0),
                "time_to_first_token_ms": spread(100.0, 180.0),
                "inter_token_latency_ms": spread(12.0, 15.0),
                "output_tokens_per_second": spread(240.0, 300.0),
                "output_token_count": spread(160.0, 200.0),
            },
        }
    ],
}
AIPERF = {
    "schema_version": "1.5",
    "request_throughput": {"unit": "requests/sec", "avg": 1.5},
    "time_to_first_token": {"unit": "ms", "avg": 100.0, "p50": 95.0, "p95": 180.0},
    "inter_token_latency": {"unit": "us", "avg": 12000.0, "p50": 12000.0, "p95": 15000.0},
    "request_latency": {"unit": "ms", "avg": 2000.0, "p50": 1900.0, "p95": 3000.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 240.0},
    "output_sequence_length": {"unit": "tokens", "avg": 160.0},
    "request_count": {"unit": "requests", "avg": 90.0},
    "error_request_count": {"unit": "requests", "avg": 10.0},
    "benchmark_duration": {"unit": "sec", "avg": 60.0},
}


def read(folder: Path, body: object, benchmark: int | None = None) -> BenchmarkResult:
    path = folder / "result.json"
    path.write_text(json.dumps(body))
    return read_result(path, benchmark)


def test_vllm_bench_summaries_are_read_in_seconds(tmp_path: Path) -> None:
    found = read(tmp_path, VLLM)
    assert (found.tool, found.rate, found.requests, found.failed) == ("vllm bench serve", 4.0, 3, 1)
    assert found.figures["ttft_mean"] == 0.15
    assert "ttft_p95" not in found.figures
    assert found.figures["errors"] == pytest.approx(1 / 3)
    assert found.figures["output_tokens"] == 6.0
    assert read(tmp_path, VLLM | {"request_rate": "inf"}).rate is None


def test_single_requests_give_what_the_summaries_lack_without_the_failed_ones(tmp_path: Path) -> None:
    found = read(tmp_path, VLLM | DETAIL)
    assert found.figures["ttft_p95"] == pytest.approx(0.195)
    assert found.figures["e2e_mean"] == pytest.approx(0.23)
    assert found.figures["itl_p95"] == pytest.approx(0.034)
    assert found.waited_s == pytest.approx(0.5)


def test_guidellm_and_aiperf_say_the_same_in_their_own_units(tmp_path: Path) -> None:
    one, two = read(tmp_path, GUIDELLM), read(tmp_path, AIPERF)
    assert (one.tool, two.tool) == ("GuideLLM", "AIPerf")
    for metric in ("ttft_mean", "ttft_p95", "itl_mean", "itl_p95", "e2e_mean", "e2e_p95", "tokens_per_s", "errors"):
        assert one.figures[metric] == pytest.approx(two.figures[metric]), metric
    assert one.figures["ttft_p95"] == 0.18
    assert (one.rate, two.rate) == (1.5, None)
    assert one.seconds == two.seconds == 60.0


def test_older_layouts_are_read(tmp_path: Path) -> None:
    old = json.loads(json.dumps(GUIDELLM))
    run = old["benchmarks"][0]
    run["run_stats"] = run.pop("scheduler_metrics")
    run["args"] = run.pop("config")
    assert read(tmp_path, old) == read(tmp_path, GUIDELLM)
    assert read(tmp_path, {"records": AIPERF}) == read(tmp_path, AIPERF)


def test_one_of_several_benchmarks_must_be_named(tmp_path: Path) -> None:
    several = {"benchmarks": GUIDELLM["benchmarks"] * 3}
    with pytest.raises(UsageError, match="3 benchmarks"):
        read(tmp_path, several)
    with pytest.raises(UsageError, match="no benchmark 4"):
        read(tmp_path, several, 4)
    assert read(tmp_path, several, 2).requests == 100


@pytest.mark.parametrize(
    "body", [{}, [], {"benchmarks": 3}, {"request_throughput": {"unit": 5}}, "text", {"completed": 1}]
)
def test_what_is_no_result_is_refused(tmp_path: Path, body: object) -> None:
    with pytest.raises((InputError, UsageError)):
        read(tmp_path, body)
    with pytest.raises(InputError, match="cannot be read"):
        read_result(tmp_path / "none.json")
    with pytest.raises(InputError, match="furlongs"):
        read(tmp_path, AIPERF | {"request_latency": {"unit": "furlongs", "avg": 1.0}})


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_by_name(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("results") / "r.json"
    path.write_bytes(content)
    with pytest.raises(WhystallError):
        read_result(path)


def test_two_results_are_compared_and_nothing_is_claimed(tmp_path: Path) -> None:
    a, b = read(tmp_path, AIPERF), read(tmp_path, AIPERF | {"request_latency": {"unit": "ms", "avg": 1000.0}})
    trial = compare_results(a, b, ("a.json", "b.json"), "e2e_mean")
    assert (trial.verdict, trial.design) == ("INCONCLUSIVE", "single")
    effect = trial.effect("e2e_mean")
    assert effect is not None
    assert (effect.low, effect.mid, effect.high) == (None, pytest.approx(-0.5), None)
    tail = trial.effect("e2e_p95")
    assert tail is not None
    assert (tail.a, tail.mid, tail.b) == (3.0, None, None)
    assert {finding.id for finding in trial.findings} >= {"closed_loop", "few_requests"}


def test_what_makes_two_results_unlike_is_named(tmp_path: Path) -> None:
    a, b = read(tmp_path, VLLM | DETAIL), read(tmp_path, GUIDELLM)
    found = {finding.id for finding in compare_results(a, b, ("a", "b"), "e2e_mean").findings}
    assert found >= {"different_tools", "different_loads", "output_lengths", "coordinated_omission", "few_requests"}
    same = {finding.id for finding in compare_results(a, a, ("a", "a"), "e2e_mean").findings}
    assert not same & {"different_tools", "different_loads", "output_lengths"}


@pytest.mark.parametrize(("body", "kind"), [(VLLM, VllmBench), (GUIDELLM, GuideLlm), (AIPERF, AiPerf)])
def test_each_format_is_told_from_the_others(
    tmp_path: Path, body: dict[str, Any], kind: type[VllmBench | GuideLlm | AiPerf]
) -> None:
    assert read(tmp_path, body) == msgspec.convert(body, kind).result()
    for other in {VllmBench, GuideLlm, AiPerf} - {kind}:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(body, other)
