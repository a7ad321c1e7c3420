"""Losses that a ticket states as such."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.losses import stated_losses
from whystall.sources.files.ticket.statements import statements_of


def losses(symptoms, flags=(), version="", engine="vllm", window=False, **workload):
    ticket = Ticket(symptoms=symptoms, workload=workload, flags=flags, version=version, engine=engine)
    return {c.feature: round(c.ratio, 2) for c in stated_losses(ticket, statements_of(ticket), window=window)}


@pytest.mark.parametrize(
    ("symptoms", "found"),
    [
        ({"lora_slowdown": 3}, {"lora": 3}),
        ({"with_grammar": "5x slower"}, {"structured_output": 5}),
        ({"throughput_drop_pct": 50}, {"": 2}),
        ({"draft_overhead_pct": 40}, {"speculative": 1.4}),
        ({"delta_pct": -20}, {"": 1.25}),
        ({"ttft_ratio": 2}, {"": 2}),
        ({"hit_ratio": 2, "kv_pct": 60}, {}),
        ({"perf": {"apply_penalties_own_pct": 80}}, {"sampling": 5}),
        ({"nccl_share_of_step_pct": 50}, {"link": 2}),
        ({"tpot_ms": 20, "allreduce_us": 50, "allreduce_per_token": 100}, {"link": 1.33}),
        ({"served_per_replica": [30, 1, 1, 0]}, {"replicas": 3.75}),
        ({"rank_ms": [10, 10, 10, 30]}, {"straggler": 2}),
        ({"by_logprobs": [{"n": 1, "new": 40}, {"n": 100, "new": 4}]}, {"sampling": 10}),
        ({"a": {"served": 9}, "b": {"served": 1}}, {"replicas": 1.8}),
        (
            {"rows": [{"dp": 0, "tokens": 4000, "step_ms": 900}, {"dp": 1, "tokens": 500, "step_ms": 890}]},
            {"lockstep": 1.78},
        ),
    ],
)
def test_what_is_worse_and_with_what(symptoms, found):
    assert losses(symptoms) == found


def test_what_the_server_runs_with_names_a_loss_that_nothing_else_names():
    loss = {"slowdown": 4}
    assert losses(loss, ("--enable-lora",)) == {"lora": 4}
    assert losses(loss, ("--enable-lora", "--enforce-eager")) == {"": 4}
    assert losses(loss, version="0.9.1 -> 0.10.0") == {"version": 4}
    assert losses(loss, ("DP=4 with expert parallel",), concurrency=2) == {"lockstep": 4}
    assert losses(loss, ("DP=4 with expert parallel",), concurrency=8) == {"": 4}


@given(
    st.dictionaries(
        st.sampled_from(["slowdown", "by_lora", "rows", "rank_ms", "rss_gib", "load_s", "allreduce_us", "x_pct"]),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=12),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
            max_leaves=15,
        ),
    )
)
def test_any_tree_states_finite_losses(symptoms):
    assert all(1 < ratio <= 1e6 for ratio in losses(symptoms).values())
