"""SGLang's page read as the same quantities, and its diagnosis without vLLM's flags."""

from __future__ import annotations

import re

import numpy as np

from whystall import pipeline
from whystall.model.recording import Recording, SeriesTable
from whystall.model.target import Target
from whystall.sources.dialects import describe, engine_of, guess_version, quantity, sglang
from whystall.sources.exposition import PageParser
from whystall.state.series import split_engines

# How much each counter rises a second: 20 of 25 that came get their first token, the queue grows by 5.
RATES = {"prompt_tokens_total": 2000.0, "generation_tokens_total": 900.0, "num_requests_total": 4.0}


def recording(page: bytes, seconds: int = 40) -> Recording:
    """The page each second, its counters rising and its queue growing."""
    parser = PageParser()
    first = parser.parse(page)
    keys = tuple(parser.keys[i] for i in first.ids)
    rises = np.array([_rise(key.name) for key in keys])
    values = first.values[:, None] + rises[:, None] * np.arange(seconds)[None, :]
    return Recording(Target("s"), SeriesTable(1e9 + np.arange(float(seconds)), keys, values))


def _rise(name: str) -> float:
    plain = name.removeprefix("sglang:")
    if plain.startswith("time_to_first_token") and not plain.endswith("_sum"):
        return 4.0
    if plain == "time_to_first_token_seconds_sum":
        return 12.0
    if plain.startswith("inter_token_latency"):
        return 9.0 if plain.endswith("_sum") else 900.0
    return 3.0 if plain == "num_queue_reqs" else RATES.get(plain, 0.0)


def test_every_name_stands_for_a_quantity_of_ours(data):
    names = set(re.findall(r"^(sglang:\w+)", (data / "sglang.prom").read_text(), re.MULTILINE))
    known = {name: found.name for name in names if (found := quantity(name))}
    assert known["sglang:num_queue_reqs"] == "num_requests_waiting"
    assert known["sglang:num_retracted_requests_total"] == "num_preemptions"
    assert "sglang:num_retracted_reqs" not in known
    assert names - set(known) == {"sglang:num_retracted_reqs", "sglang:gen_throughput"}
    for ours in (sglang.NAMES | sglang.OLDER).values():
        assert describe(ours) is not None


def test_it_is_not_taken_for_a_version_of_vllm(data):
    names = {key.name for key in recording((data / "sglang.prom").read_bytes()).metrics.keys}
    assert engine_of(names) == "sglang"
    assert guess_version(names).since == ""
    assert engine_of(["vllm:num_requests_running"]) == "vllm"


def test_the_older_name_of_the_gaps_is_left_out_beside_the_new_one(data):
    (engine,) = split_engines(recording((data / "sglang.prom").read_bytes()).metrics)
    assert engine.total("inter_token_latency_seconds", "count")[0] == 57000


def test_a_growing_queue_is_diagnosed_and_no_flag_of_vllm_is_advised(data):
    found = pipeline.diagnose(recording((data / "sglang.prom").read_bytes())).diagnosis
    assert found.engine.name == "sglang"
    assert found.engine.model == "m"
    assert found.verdict != "healthy"
    assert found.remedies == ()
    assert found.coverage.missing
