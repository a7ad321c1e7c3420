"""Every file of the catalogue says what it must, in both languages, with names that exist."""

import re

import pytest

from states import blank
from whystall.causes.catalogue import catalogue
from whystall.causes.entry import Need
from whystall.evidence.focus import focus
from whystall.evidence.symptoms import symptoms
from whystall.model.text import Text

FIRST = """
kv_capacity seat_cap queue_limit token_budget prefill_bound prefill_interference head_of_line_prompt burst
longer_prompts longer_outputs prefix_cache_loss overload low_demand client_limited cpu_starved frontend_cpu
engine_loop_cpu launch_bound gpu_throttle observability_overhead engine_hang
"""
# Causes of DESIGN.md that a look-alike may name before their file exists.
LATER = """
decode_bandwidth structured_output sampler_cpu multimodal_preprocessing lora_swapping spec_decode_inefficient
jit_compile gc_pause slow_kernel gpu_fault comm_bound straggler_rank replica_imbalance moe_imbalance kv_offload_stall
host_memory_leak weight_loading warm_up gateway network pd_transfer pipeline_bubble dp_lockstep engine_dead
startup_failure oom config_regression version_regression
"""
KNOWN = {*FIRST.split(), *LATER.split()}
LIMITS = {
    "max_num_seqs",
    "max_num_batched_tokens",
    "num_gpu_blocks",
    "max_num_queued_reqs",
    "long_prefill_token_threshold",
}
SIGNALS = {"metrics", "gpu", "host", "log", "config", "client", "spans", "trace"}
ENTRIES = [pytest.param(entry, id=name) for name, entry in sorted(catalogue().items())]
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def texts(entry) -> list[Text]:
    links = [text for link in entry.links for text in (link.claim, link.rejects) if text is not None]
    return [
        entry.title,
        entry.what,
        entry.predicts,
        entry.first_step,
        *links,
        *(a.told_apart_by for a in entry.look_alikes),
    ]


def test_the_catalogue_is_whole() -> None:
    assert set(catalogue()) == KNOWN, "every cause of DESIGN.md has its file"
    assert set(catalogue()) >= set(FIRST.split())
    assert set(catalogue()) <= KNOWN
    assert all(entry.id == name for name, entry in catalogue().items())


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_text_is_there_in_both_languages(entry) -> None:
    for text in texts(entry):
        assert text.en.strip()
        assert re.search(r"[\u4e00-\u9fff]", text.zh), text.en
        assert not re.search(r"[\u4e00-\u9fff]", text.en), text.en


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_claim_quotes_the_evidence_that_it_checks(entry) -> None:
    for link in entry.links:
        checked = {need.evidence.replace(".", "_") for need in link.needs}
        assert checked
        for text in (link.claim.en, link.claim.zh):
            assert set(PLACEHOLDER.findall(text)) <= checked, text
    assert [text.en for text in texts(entry) if PLACEHOLDER.search(text.en) and text not in claims(entry)] == []


def claims(entry) -> list[Text]:
    return [link.claim for link in entry.links]


@pytest.mark.parametrize("entry", ENTRIES)
def test_names_that_it_uses_exist(entry) -> None:
    assert {one.cause for one in entry.look_alikes} <= KNOWN - {entry.id}
    assert set(entry.acts_through) <= set(catalogue()) - {entry.id}
    assert all(catalogue()[name].role == "limit" for name in entry.acts_through)
    assert set(entry.hurts_as) <= set(symptoms(blank([1.0, 1.0])))
    assert set(entry.settled_by) <= SIGNALS
    assert entry.settled_by
    assert entry.limit is None or entry.limit in LIMITS


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_loss_has_a_name_or_explains_idleness(entry) -> None:
    assert bool(entry.hurts_as) != entry.explains_idle
    assert entry.look_alikes, "what it is mistaken for"


@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_speaks_for_it_until_something_is_seen_and_its_own_evidence_suffices(entry) -> None:
    assert entry.bias <= -2
    for link in entry.links:
        for need in link.needs:
            assert need.evidence in entry.weights or link.optional or need.below, need.evidence
    assert entry.bias + 1.5 * sum(weight for weight in entry.weights.values() if weight > 0) > 2


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_chain_has_a_why_that_must_hold_or_one_that_decides(entry) -> None:
    must = [link for link in entry.links if not link.optional]
    own = [name for name in entry.weights if not name.startswith("contrast.")]  # a comparison has a chain of its own
    strongest = max(own, key=lambda name: entry.weights[name])
    cited = {need.evidence for link in entry.links for need in link.needs}
    assert must or strongest in cited


def test_a_need_holds_at_its_level_and_on_its_side() -> None:
    assert Need("x").holds(0.3)
    assert not Need("x").holds(0.29)
    assert Need("x", 0.3, below=True).holds(0.3)
    assert not Need("x", 0.3, below=True).holds(0.31)


def test_every_kind_of_loss_has_its_weight_and_some_cause() -> None:
    kinds = set(symptoms(blank([1.0, 1.0])))
    # A promise that is broken by none of the other losses: what the server does is what it can, or unknown.
    assert {kind for entry in catalogue().values() for kind in entry.hurts_as} == kinds - {"ttft", "e2e"}
    assert not focus(blank([1.0, 1.0])).hurts
