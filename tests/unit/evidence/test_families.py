"""All families together: what they may say, and that it reads as a fact whichever way it points."""

import ast
import re
from pathlib import Path

import pytest

import hostile
import whystall.evidence
from scenes import evidence_of
from whystall.causes.catalogue import catalogue
from whystall.evidence.families import FAMILIES, collect
from whystall.evidence.scene import Scene
from whystall.evidence.thresholds import THRESHOLDS
from whystall.pipeline import states_of

FOLDER = Path(whystall.evidence.__file__).parent
ID = re.compile(r"[a-z]+\.[a-z_]+")
# For the reader of the report: no cause weighs them.
CONTEXT = {
    "link.rtt",
    "link.lost",
    "itl.frozen",
    "log.reset_failed",
    "log.too_long",
    "log.start_warned",
    "forecast.kv",
    "forecast.queue",
    "step.slower",
} | {f"baseline.{name}" for name in ("itl", "ttft", "prefill", "front", "prompts", "outputs", "requests", "hits")}
GPU = {"util": 0.9, "power": 650, "clock_mhz": 1700}
FULL = {"waiting": 30, "kv": 0.99, "queue_s": 6, "preemptions": 1, "gpu": GPU, "host_busy": 0.9, "engine_cores": 0.9}
WINDOWS = {
    "calm": [{"gpu": GPU, "host_busy": 0.2, "engine_cores": 0.3}],
    "incident": [{"gpu": GPU, "host_busy": 0.2, "engine_cores": 0.3}, FULL],
    "idle": [{"running": 0, "rate": 0.0}],
    "hang": [{}, {"stopped": True, "seconds": 45}],
    "stall": [{}, {"stopped": True, "seconds": 8}, {}],
    "refused": [{"refused": 2, "errors": 1}],
    "longer": [{"cached": 0.8}, {"prompt": 2000, "output": 900, "waiting": 20, "queue_s": 4}],
}


def emitted() -> set[str]:
    """Every id that stands in a call of the evidence modules."""
    calls = [
        node
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]
    words = [a.value for call in calls for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return {word for word in words if ID.fullmatch(word)}


def weighed() -> set[str]:
    """Every id that some cause asks for."""
    causes = catalogue().values()
    chains = [links for cause in causes for links in (cause.links, *cause.other_links)]
    needs = {need.evidence for links in chains for link in links for need in link.needs}
    return needs | {name for cause in causes for name in (*cause.weights, *cause.onset_from)}


def test_every_id_that_a_cause_asks_for_can_be_seen() -> None:
    assert weighed() - emitted() == set()


def test_every_id_that_can_be_seen_is_weighed_or_for_the_reader() -> None:
    assert emitted() - weighed() == CONTEXT


def test_every_threshold_is_used_and_every_level_is_in_the_table() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*.py"))
    assert set(re.findall(r'level\("(\w+)"\)', text)) == set(THRESHOLDS)


@pytest.mark.parametrize("window", WINDOWS)
def test_evidence_is_complete_bounded_and_said_in_two_languages(window: str) -> None:
    found = evidence_of(*WINDOWS[window])
    assert found
    for name, one in found.items():
        assert name == one.id
        assert name in emitted()
        assert -1.5 <= one.strength <= 1.5
        assert one.text.zh != one.text.en
        for text in (one.text.en, one.text.zh):
            assert not re.search(r"[{}]|\bnan\b|\binf\b", text), text
        assert one.window_s is not None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_families_do_not_share_ids(family) -> None:
    scene = Scene(states_of(hostile.incident())[0])
    mine = {one.id for one in family(scene)}
    others = [one.id for other in FAMILIES if other is not family for one in other(scene)]
    assert mine.isdisjoint(others)
    assert mine <= set(collect(scene))


# Words that would claim a finding also where the number says that there is none.
CLAIMS = re.compile(r"\b(too (high|low|many|slow|long|small)|saturated|overloaded|exhausted|starved|wrong|bad|slow)\b")


@pytest.mark.parametrize("window", ["calm", "idle"])
def test_a_sentence_that_speaks_against_claims_nothing(window: str) -> None:
    against = [one.text.en for one in evidence_of(*WINDOWS[window]).values() if one.strength <= 0]
    assert against
    assert [text for text in against if CLAIMS.search(text)] == []
