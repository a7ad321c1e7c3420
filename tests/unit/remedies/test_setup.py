import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.remedies.setup import Setup, number_of, switch_of

SEATS = Limit("max_num_seqs", 1024, "default", "default")
KNOWN = Configuration(version="0.26.0", flags={"max_num_batched_tokens": "16k"}, limits=(SEATS,), enforce_eager=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("16384", 16384), ("16k", 16_000), ("16K", 16_384), ("0.92", 0.92), ("1e3", 1000), ("auto", None), ("", None)],
)
def test_numbers_as_vllm_takes_them(text, number):
    assert number_of(text) == number


@given(st.text())
def test_any_text_is_a_number_or_none(text):
    number_of(text)
    switch_of(text)


def test_what_is_in_force_comes_from_changes_then_reports_then_flags_then_defaults():
    setup = Setup(KNOWN, {"max_num_seqs": "64"}, {"stream_interval": "1"})
    assert setup.number("max_num_seqs") == 64
    assert setup.number("max_num_batched_tokens") == 16_000
    assert setup.on("enforce_eager") is True
    assert setup.number("stream_interval") == 1
    assert setup.text("watermark") is None


def test_a_removed_flag_leaves_the_default():
    setup = Setup(KNOWN, {"max_num_batched_tokens": ""}, {"max_num_batched_tokens": "8192"})
    assert setup.is_set("max_num_batched_tokens") is False
    assert setup.number("max_num_batched_tokens") == 8192


def test_nobody_knows_what_was_set_without_the_flags():
    setup = Setup(Configuration(limits=(SEATS,)), {}, {"stream_interval": "1"})
    assert setup.is_set("max_num_seqs") is None
    assert not setup.floats("max_num_seqs")
    assert setup.text("stream_interval") is None
    assert Setup(KNOWN).floats("max_num_seqs")


def test_facts_are_numbers_that_no_flag_holds():
    assert Setup(KNOWN, facts={"gpus": 4}).number("gpus") == 4
