"""The page is the recorded one with our values; what it counts is what happened."""

from __future__ import annotations

import re

import pytest

from emulated import START, samples, total
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.page import PageTemplate, Sample, _number, versions
from whystall.emulator.server.traffic import TrafficPlan
from whystall.errors import UsageError


def deployment(**changes: object) -> Deployment:
    options = EngineOptions(num_gpu_blocks=4000, max_model_len=4096, max_num_seqs=32, async_scheduling=True)
    mix = (LengthClass(1.0, (100, 400), (20, 80)),)
    values = {"options": options, "profile": load_profile("h200-8b"), "traffic": TrafficPlan(mix=mix, rate=10)}
    return Deployment(Serving(**{**values, **changes}), start=START)


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{text}"' for name, text in sample.labels)
    return f"{sample.name}{{{labels}}} 0" if labels else f"{sample.name} 0"


@pytest.mark.parametrize("version", versions())
def test_names_labels_and_buckets_are_those_of_the_recorded_page(version: str) -> None:
    server = deployment(version=version)
    server.advance(START + 20)
    shape = re.compile(
        r'((?:model_name|num_gpu_blocks|kv_cache_\w+|block_size|enable_prefix_caching|\w+_override)=)"[^"]*"'
    )

    def names(text: str) -> list[str]:
        lines = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
        return sorted(shape.sub(r"\1", line) for line in lines)

    recorded = "\n".join(_line(s) for f in PageTemplate(version, 4096).families for s in f.samples)
    assert names(server.page()) == names(recorded)


@pytest.mark.parametrize(
    ("version", "recorded", "longest"), [("0.26", 32768, 20000.0), ("0.32", 4096, 2000.0), ("0.32", 16384, 10000.0)]
)
def test_buckets_of_lengths_reach_as_far_as_a_prompt_may(version: str, recorded: int, longest: float) -> None:
    template = PageTemplate(version, recorded)
    for name in ("prompt_tokens", "generation_tokens", "params_max_tokens", "prefill_kv_computed_tokens"):
        assert template.bounds(f"vllm:request_{name}")[-1] == longest
    assert template.bounds("vllm:request_params_n") == [1, 2, 5, 10, 20]
    assert template.bounds("vllm:iteration_tokens_total")[-1] == 16384


@pytest.mark.parametrize(("version", "recorded"), [("0.26", 32768), ("0.32", 4096)])
def test_the_recorded_buckets_are_those_of_the_rule(version: str, recorded: int) -> None:
    def edges(template: PageTemplate) -> list[list[float]]:
        return [template.bounds(name) for name in template.histograms()]

    assert edges(PageTemplate(version)) == edges(PageTemplate(version, recorded))


def test_counters_and_histograms_agree_with_each_other() -> None:
    server = deployment()
    server.advance(START + 60)
    page = server.page()
    finished = total(page, "vllm:request_success_total")
    assert finished > 300
    assert total(page, "vllm:e2e_request_latency_seconds_count") == finished
    assert total(page, "vllm:request_queue_time_seconds_count") == finished
    first = total(page, "vllm:time_to_first_token_seconds_count")
    assert finished <= first <= finished + total(page, "vllm:num_requests_running")
    tokens = total(page, "vllm:generation_tokens_total")
    assert tokens == first + total(page, "vllm:inter_token_latency_seconds_count")
    prompts = total(page, "vllm:prompt_tokens_total")
    assert total(page, "vllm:iteration_tokens_total_sum") == tokens + prompts
    assert total(page, "vllm:prompt_tokens_by_source_total") == prompts


def test_looking_at_the_page_changes_nothing() -> None:
    often, once = deployment(), deployment()
    for second in range(1, 31):
        often.advance(START + second)
        often.page()
    once.advance(START + 30)
    assert total(often.page(), "vllm:generation_tokens_total") == total(once.page(), "vllm:generation_tokens_total")
    assert total(often.page(), "vllm:e2e_request_latency_seconds_sum") == pytest.approx(
        total(once.page(), "vllm:e2e_request_latency_seconds_sum")
    )


def test_replicas_have_an_engine_label_each() -> None:
    server = deployment(replicas=3)
    server.advance(START + 30)
    page = server.page()
    running = [key for key in samples(page) if key.startswith("vllm:generation_tokens_total[")]
    assert len(running) == 3
    assert all(samples(page)[key] > 0 for key in running)


def test_the_periodic_line_is_written_every_ten_seconds() -> None:
    server = deployment()
    server.advance(START + 35)
    lines = [line for line in server.log.recent if "Avg prompt throughput" in line]
    assert len(lines) == 3
    assert "Engine 000:" in lines[0]
    assert "GPU KV cache usage" in lines[0]


def test_numbers_are_written_as_the_reference_writes_them() -> None:
    from prometheus_client.utils import floatToGoString

    for value in (0, 1, 0.25, 12345.5, 999999, 1e6, 1234567.25, 1.7e9, 1790000000.123, 1e-5, 3.5e12):
        assert _number(value) == floatToGoString(value)


def test_an_unknown_version_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"0\.1"):
        PageTemplate("0.1")
