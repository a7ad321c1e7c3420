"""What the judgement does beside naming causes, which ``tests/cases`` judges cause by cause."""

import msgspec
import pytest

from cases.window import recording_of
from scenes import ARGV, CALM
from whystall.causes.judge import judge, worst
from whystall.causes.weighing import ANSWER
from whystall.model.diagnosis import Diagnosis, Notice
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.pipeline import states_of

SEATS = {"seconds": 40, "running": 64, "waiting": 40, "queue_s": 8}


def state_of(*phases: dict) -> EngineState:
    return states_of(recording_of({"argv": ARGV, "phases": [{**CALM, **phase} for phase in phases]}))[0]


def judged(*phases: dict, slo: Slo | None = None) -> Diagnosis:
    return judge(state_of(*phases), "t", slo=slo)


def test_a_bottleneck_is_named_with_its_number_and_its_way_out() -> None:
    found = judged({"seconds": 30}, SEATS)
    assert found.verdict == "bottleneck"
    top = found.causes[0]
    assert top.id == "seat_cap"
    assert top.probability >= ANSWER
    assert top.limit is not None
    assert top.limit.value == 64
    assert found.remedies[0].cause == "seat_cap"
    assert any(c.isdigit() for c in found.headline.en)
    assert set(top.evidence_for) <= {e.id for e in found.evidence}


def test_what_was_ruled_out_has_its_number_and_is_not_named() -> None:
    found = judged({"seconds": 30}, SEATS)
    named = {cause.id for cause in found.causes}
    assert found.ruled_out
    assert not named & {ruled.id for ruled in found.ruled_out}
    assert all(ruled.because.en for ruled in found.ruled_out)


def test_a_healthy_server_has_nothing_to_change() -> None:
    found = judged({"seconds": 30})
    assert (found.verdict, found.remedies) == ("healthy", ())
    assert found.headline.en.startswith("Healthy")


def test_a_loss_without_a_cause_is_not_called_healthy() -> None:
    """Requests fail with 5xx and nothing else is wrong: no cause of the catalogue explains that from the page."""
    found = judged({"seconds": 30, "errors": 3.0})
    assert found.verdict != "healthy"


@pytest.mark.parametrize("seconds", [3, 4])
@pytest.mark.parametrize("phase", [{}, SEATS])
def test_a_look_too_short_for_an_incident_is_no_proof_of_health(phase: dict, seconds: int) -> None:
    found = judged({**phase, "seconds": seconds})
    assert (found.verdict, found.causes, found.remedies) == ("unknown", (), ())
    assert "too short" in found.headline.en
    assert ("queue" in found.headline.en) == bool(phase)


def test_a_loss_that_may_pass_is_told_in_a_short_look_and_forgiven_in_a_long_one() -> None:
    wave = {**SEATS, "seconds": 3, "queue_s": 0.1}
    assert judged({"seconds": 5}, wave).verdict == "unknown"
    assert judged({"seconds": 5}, wave, {"seconds": 30}).verdict == "healthy"
    assert judged({"seconds": 8}).verdict == "healthy"


@pytest.mark.parametrize("seconds", [0, 1])
def test_too_little_is_said_not_guessed(seconds: int) -> None:
    state = state_of(SEATS)
    cut = recording_of({"argv": ARGV, "phases": [{**CALM, **SEATS, "seconds": 1}]})
    short = states_of(cut)[0] if seconds else msgspec.structs.replace(state, valid=state.valid & False)
    found = judge(short, "t")
    assert (found.verdict, found.causes) == ("unknown", ())
    assert "too little data" in found.headline.en


def test_notices_are_carried() -> None:
    notice = Notice("restart", Text("it began anew"))
    assert judge(state_of({}), "t", notices=(notice,)).warnings == (notice,)


def test_probabilities_are_shares_and_sorted() -> None:
    found = judged({"seconds": 30}, {**SEATS, "kv": 0.99, "preemptions": 2.0})
    chances = [cause.probability for cause in found.causes]
    assert all(0 <= chance <= 1 for chance in chances)
    assert chances == sorted(chances, reverse=True)


def test_the_worst_of_several_engines_stands_for_them() -> None:
    ill, well = judged({"seconds": 30}, SEATS), judged({"seconds": 30})
    assert worst([well]) == well
    top = worst([well, ill])
    assert (top.verdict, top.engines) == ("bottleneck", (well, ill))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unanswered_after_s": 20.0}, "last 20 s"),
        ({"unanswered_before_s": 60.0, "served_tokens": 1e4}, "of 100 s could be read"),
    ],
)
def test_a_server_that_did_not_answer_is_not_called_healthy(change: dict, said: str) -> None:
    calm = state_of({"seconds": 40})
    assert judge(calm, "t").verdict == "healthy"
    found = judge(msgspec.structs.replace(calm, **change), "t")
    assert found.verdict == "unknown"
    assert said in found.headline.en


def test_a_few_lost_scrapes_take_no_health() -> None:
    calm = msgspec.structs.replace(state_of({"seconds": 40}), unanswered_after_s=3.0, unanswered_before_s=10.0)
    assert judge(calm, "t").verdict == "healthy"


def test_a_server_that_was_away_and_started_anew_is_not_called_healthy() -> None:
    calm = state_of({"seconds": 40})
    again, valid = calm.dt.copy(), calm.valid.copy()
    again[20], valid[20] = 12.0, False
    found = judge(msgspec.structs.replace(calm, dt=again, valid=valid), "t")
    assert found.verdict == "unknown"
    assert "away for 11 s" in found.headline.en


def test_a_server_that_answers_after_a_while_and_had_served_nothing_was_starting() -> None:
    found = judge(msgspec.structs.replace(state_of({"seconds": 40}), unanswered_before_s=60.0, served_tokens=0.0), "t")
    assert [cause.id for cause in found.causes] == ["weight_loading"]
