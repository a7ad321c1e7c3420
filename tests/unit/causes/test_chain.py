import msgspec
import pytest

from whystall.causes.catalogue import catalogue
from whystall.causes.chain import chain, filled
from whystall.causes.entry import CauseEntry, Link, Need
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text


def evidence(name: str, strength: float) -> Evidence:
    return Evidence(name, 1.0, "s", strength, Text(f"{name} measured", f"测得 {name}"), "metrics")


def all_holding(entry: CauseEntry, strength: float = 1.5) -> dict[str, Evidence]:
    """Evidence of the sign that each link asks for."""
    found = {}
    for link in entry.links:
        for need in link.needs:
            sign = 1 if need.holds(strength) else -1
            found[need.evidence] = evidence(need.evidence, sign * strength)
    return found


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.id)
def test_every_why_carries_its_own_check(entry: CauseEntry) -> None:
    whole = chain(entry, all_holding(entry))
    assert whole is not None
    assert whole.complete
    assert all(why.holds and why.evidence and why.claim.en and why.claim.zh for why in whole.whys)
    assert not any("{" in why.claim.en or "{" in why.claim.zh for why in whole.whys)


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.id)
def test_a_check_that_fails_breaks_the_chain(entry: CauseEntry) -> None:
    entry = msgspec.structs.replace(entry, other_links=())  # another way to see the same may hold still
    for link in (link for link in entry.links if not link.optional):
        found = all_holding(entry)
        broken = link.needs[0].evidence
        found[broken] = evidence(broken, -found[broken].strength)
        assert chain(entry, found) is None


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.id)
def test_a_check_that_was_not_seen_leaves_it_open(entry: CauseEntry) -> None:
    entry = msgspec.structs.replace(entry, other_links=())
    assert chain(entry, {}) is None
    required = [link for link in entry.links if not link.optional]
    if len(required) < 2:
        return
    found = all_holding(entry)
    gone = {need.evidence for need in required[0].needs}
    rest = chain(entry, {name: value for name, value in found.items() if name not in gone})
    assert rest is None or not rest.complete


def test_claims_take_the_texts_of_their_evidence() -> None:
    text = filled(Text("it waits: {queue_delay}", "等待：{queue_delay}"), {"queue.delay": evidence("queue.delay", 1.0)})
    assert text == Text("it waits: queue.delay measured", "等待：测得 queue.delay")


@pytest.mark.parametrize("entry", [e for e in catalogue().values() if e.other_links], ids=lambda entry: entry.id)
def test_another_chain_stands_where_the_first_does_not(entry: CauseEntry) -> None:
    for links in entry.other_links:
        found = {
            need.evidence: evidence(need.evidence, -1.5 if need.below else 1.5) for link in links for need in link.needs
        }
        stands = chain(entry, found)
        assert stands is not None
        assert stands.complete
        broken = links[0].needs[0].evidence
        found[broken] = evidence(broken, -1.5)
        assert (stands := chain(entry, found)) is None or not stands.complete


def test_a_link_that_counts_if_seen_is_left_out_unseen_and_breaks_the_chain_where_it_fails() -> None:
    entry = msgspec.structs.replace(
        catalogue()["slow_kernel"],
        links=(
            Link(Text("slower"), (Need("a.one"),)),
            Link(Text("in every step"), (Need("b.one", 0.0, below=True),), if_seen=True),
        ),
        other_links=(),
    )
    unseen = chain(entry, {"a.one": evidence("a.one", 1.0)})
    assert unseen is not None
    assert unseen.complete
    assert len(unseen.whys) == 1
    assert chain(entry, {"a.one": evidence("a.one", 1.0), "b.one": evidence("b.one", 1.0)}) is None
