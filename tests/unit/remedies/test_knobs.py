"""Every knob against the parser's own list, and against what the entry itself says."""

import re

import pytest

from whystall.causes.catalogue import catalogue
from whystall.remedies.knob import Knob
from whystall.remedies.knobs import by_flag, knob_of, knobs
from whystall.remedies.rules import legal_choices, spelling
from whystall.remedies.treatments import treatments
from whystall.remedies.version import numbers

# Causes of the design that have no file yet.
TO_COME = {
    "decode_bandwidth", "multimodal_preprocessing", "sampler_cpu", "spec_decode_inefficient", "comm_bound",
    "moe_imbalance", "pipeline_bubble", "dp_lockstep",
}  # fmt: skip
HAN = re.compile("[一-鿿]")


@pytest.fixture(scope="module")
def parser(data):
    """The option strings of ``vllm serve`` 0.32.0."""
    return set((data / "vllm_flags_0_32.txt").read_text("utf-8").split())


def spellings():
    return [(flag, one) for knob in knobs().values() for one in knob.spellings for flag in (one.flag, one.off) if flag]


@pytest.mark.parametrize(("flag", "one"), spellings(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_current_spelling_is_the_parsers_and_a_removed_one_is_not(flag, one, parser):
    # Settings inside a JSON flag are written with a dot: -cc.cudagraph_mode.
    assert (flag.partition(".")[0] in parser) == (not one.until)


def test_every_flag_of_the_reference_has_an_entry(shared):
    text = (shared / "reference" / "vllm.md").read_text("utf-8")
    section = text[text.index("## 6.1 ") : text.index("## 6.7 ")]
    named = {flag.rstrip("-") for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", section)} - {"--flag", "--no"}
    # Suffixes in brackets, and a flag that the log suggests but the parser does not know.
    assert {flag for flag in named if knob_of(flag) is None} == {"--kv-cache-memory"}


def test_spellings_are_unique():
    flags = [flag for knob in knobs().values() for flag in knob.flags()]
    assert len(flags) == len(set(flags)) == len(by_flag())


@pytest.mark.parametrize("id", sorted(knobs()))
def test_an_entry_is_whole(id):
    knob = knobs()[id]
    assert isinstance(knob, Knob)
    assert knob.id == id
    texts = [knob.what, knob.up, knob.undo, *(rule.says for rule in knob.needs)]
    texts += [text for folk in knob.folk for text in (folk.claim, folk.wrong)]
    assert all(text.en and HAN.search(text.zh) for text in texts)
    assert not any(HAN.search(text.en) for text in texts)
    for one in knob.spellings:
        assert all(numbers(bound) for bound in (one.since, one.until) if bound)
    causes = {treatment.cause for treatment in knob.treats} | {cause for folk in knob.folk for cause in folk.causes}
    assert causes <= set(catalogue()) | TO_COME


def test_a_removed_flag_is_never_advised():
    removed = [knob for knob in knobs().values() if all(one.until for one in knob.spellings)]
    assert {knob.group for knob in removed} == {"removed"}
    assert all(not knob.treats and spelling(knob, "0.32.0") is None for knob in removed)


def test_a_treatment_is_named_for_a_cause():
    assert set(treatments()) <= set(catalogue())


def test_words_lead_to_knobs():
    assert knob_of("--max_num_seqs") is knob_of("max-num-seqs") is knob_of("max_num_seqs")
    assert knob_of("-tp").id == "tensor_parallel_size"
    assert knob_of("--no-enable-prefix-caching").id == "enable_prefix_caching"
    assert knob_of("-cc.cudagraph_mode").id == "cudagraph_mode"
    assert knob_of("--no-such-flag") is None


def test_defaults_follow_the_version():
    share = knobs()["gpu_memory_utilization"]
    assert (share.default((0, 19, 1)), share.default((0, 26, 0)), share.default(())) == ("0.9", "0.92", None)
    assert knobs()["max_num_seqs"].default((0, 26, 0)) is None  # it depends on the device


def test_choices_follow_the_version():
    legal = knobs()["kv_cache_dtype"].legal
    assert "fp8" in legal_choices(legal, "0.26.0")
    assert "nvfp4" not in legal_choices(legal, "0.26.0")
    assert "nvfp4" in legal_choices(legal, "0.32.0")
