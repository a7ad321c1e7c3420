from __future__ import annotations

import pytest

from whystall.reports.quoted import not_from

SOURCE = {
    "engine": {"version": "0.26.0", "model": "llama-3.1-8b"},
    "headline": "All seats taken: 128 of 128 run, 0.88 s wait",
    "causes": [{"id": "seat_cap", "probability": 0.93, "onset": {"seconds": 15.0, "low": 13.4, "high": 17.0}}],
    "evidence": [
        {"id": "queue.delay", "value": 12.84, "unit": "s", "strength": 1.5},
        {"id": "kv.saturated", "value": 0.981, "unit": "ratio", "strength": -1.5},
        {"id": "prompts.longer", "value": 2.67, "unit": "x", "strength": 0.3},
        {"id": "gpu.memory", "value": 21.5 * 2**30, "unit": "bytes", "strength": 0.3},
    ],
    "impact": {"ttft_p95_s": 13.2, "itl_p95_s": 0.0104, "tokens_per_s": 3712.0},
    "remedies": [
        {"change": {"--max-num-seqs": "256"}, "effect": {"ttft_p95": {"low": -0.62, "mid": -0.5, "high": -0.31}}}
    ],
    "window": {"start": 1790000000.0, "end": 1790000060.0, "seconds": 60.0},
}
FROM_IT = [
    "128 seats of 128 are taken",
    "requests wait 12.8 s, or about 13 seconds",
    "they wait 12,840 ms",
    "sure to 93%, probability 0.93",
    "the cache is 98% full; 98.1 percent",
    "prompts are 2.7 times as long, 2.67× in full",
    "ITL p95 is 10.4 ms, about 10 ms",
    "3,712 tokens a second, some 3700 tok/s",
    "TTFT p95 falls by half, 31% to 62%",
    "it began at 15 s (13.4 to 17 s)",
    "over 60 seconds, which is 1 minute",
    "vLLM 0.26.0 with llama-3.1-8b, start it with --max-num-seqs 256",
    "21.5 GiB are used",
    "等待约 12.8 秒，概率 93%，提示长度为 2.7 倍",
    "1. seats are taken\n2. requests wait\n3. raise the limit",
    "",
    "no figure at all",
]
NOT_FROM_IT = [
    ("129 seats are taken", "129"),
    ("requests wait 12.8 ms", "12.8 ms"),
    ("requests wait 13.9 s", "13.9 s"),
    ("sure to 95%", "95%"),
    ("throughput rises by 45 percent", "45 percent"),
    ("prompts are 2.9 times as long", "2.9 times"),
    ("use --enforce-eager", "--enforce-eager"),
    ("use -tp", "-tp"),
    ("see http://evil.example", "http:"),
    ("vLLM 0.27.1", "0.27"),
    ("p99 is worse", "p99"),
    ("twenty times slower", "twenty"),
    ("慢了三十倍", "三十"),
    ("21.5 GB are used", "21.5 GB"),
    ("4. seats are taken", "4"),
    ("1e6 requests", "1e6"),
    ("12.84.1", "12.84"),
    ("seats128x", "seats128x"),
]


@pytest.mark.parametrize("text", FROM_IT)
def test_what_stands_in_the_json_may_be_said(text):
    assert not_from(text, SOURCE) == []


@pytest.mark.parametrize(("text", "wrong"), NOT_FROM_IT)
def test_what_does_not_is_named(text, wrong):
    assert any(wrong in one for one in not_from(text, SOURCE))


def test_a_number_that_nobody_reads_is_no_source():
    assert not_from("it is 1.5 as strong, at 1790000000", SOURCE) != []


def test_not_more_than_a_few_are_named():
    assert len(not_from(" ".join(f"{n}01 s" for n in range(30, 60)), SOURCE)) == 5


@pytest.mark.parametrize("text", ["９９％", "٣٤ s", "¹²", "Ⅻ"])
def test_digits_of_other_scripts_are_figures_too(text):
    assert not_from(f"it waits {text} longer", SOURCE) != []


def test_a_number_of_any_length_is_no_surprise():
    for text in ("1" * 6000, "1" + "0" * 5999, "1e999", "0." + "0" * 3000 + "1"):
        assert not_from(text, SOURCE) != []
