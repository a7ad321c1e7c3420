"""Launch flags as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.arguments import read_arguments
from whystall.sources.files.ticket.flags import command_line, kv_tokens


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("max_num_seqs 6", "max_num_seqs", "6"),
        ("--parallel 1", "max_num_seqs", "1"),
        ("TP=2", "tensor_parallel_size", "2"),
        ("tp_size=2", "tensor_parallel_size", "2"),
        ("-tp 8", "tensor_parallel_size", "8"),
        ("--enforce-eager", "enforce_eager", "True"),
        ("max_num_batched_tokens 512 (default) / 4096", "max_num_batched_tokens", "512"),
        ("ngram k=5", "speculative_config.num_speculative_tokens", "5"),
        ("chunked prefill on", None, None),
    ],
)
def test_a_flag_is_spelled_as_vllms_or_left_out(text, name, value):
    found = read_arguments(command_line([text]))
    assert found.get(name) == value if name else not found


def test_the_pool_of_another_engine():
    assert kv_tokens(["max_tokens_in_paged_kv_cache 2560"]) == 2560
    assert kv_tokens(["--max-num-seqs 4"]) is None


@given(st.lists(st.text(max_size=80), max_size=5))
def test_any_text_is_a_command_line(flags):
    read_arguments(command_line(flags))
