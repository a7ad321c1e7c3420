import msgspec

import findings
from whystall.model.diagnosis import Diagnosis, Engine, Impact
from whystall.model.incident import Burn, Forecast
from whystall.model.text import Text
from whystall.service.course import DAMPED_S, LASTS_S, Course, Look, calm, hurts

BAD = findings.bottleneck().diagnosis
GOOD = findings.healthy().diagnosis
UNTOLD = msgspec.structs.replace(
    findings.unknown().diagnosis, impact=Impact(window_s=60.0, requests_affected_ratio=0.5)
)
SOON = Forecast("kv_blocks", 120.0, 0.0, 0.8, 0.001, Text("KV cache full in 2 min"))


def course() -> Course:
    return Course("a", "http://a", Engine(id="0"))


def see(at: Course, *looks: Look) -> list[str]:
    return [f"{h.what} {h.incident.state}" for look in looks for h in at.see(look)]


def losing(of: Diagnosis, until: float, seconds: float = 60.0) -> Diagnosis:
    """``of`` with ``seconds`` lost up to ``until``."""
    impact = msgspec.structs.replace(of.impact, lost_s=seconds, lost_until_s=until - of.window.start)
    return msgspec.structs.replace(of, impact=impact)


def bad(at: float, seconds: float = 60.0) -> Look:
    return Look(at, losing(BAD, at, seconds), BAD)


def good(at: float) -> Look:
    return Look(at, BAD, GOOD)


def test_one_bad_look_is_none():
    assert see(course(), bad(0), Look(10, GOOD), bad(20), Look(30, GOOD)) == []


def test_two_open_two_close_each_once():
    at = course()
    assert see(at, *(bad(t) for t in range(0, 100, 10))) == ["opened open"]
    assert see(at, good(100)) == []
    assert see(at, good(110)) == ["recovered recovered"]
    assert see(at, good(120), Look(130, GOOD, GOOD)) == []
    assert at.not_before >= 0


def test_a_loss_that_is_over_is_not_confirmed_by_looks_at_it():
    """Seen in the soak: a queue of ten seconds stood in the window of five looks."""
    once = losing(BAD, 0.0)
    assert see(course(), *(Look(t, once, BAD) for t in range(0, 60, 10))) == []


def test_a_short_loss_is_none_until_enough_of_them_came():
    at = course()
    assert see(at, *(bad(t, seconds=10.0) for t in range(0, 60, 10))) == []
    assert see(at, bad(60, seconds=LASTS_S - 10), bad(70, seconds=LASTS_S)) == ["opened open"]


def test_what_one_look_alone_sees_is_none():
    """Seen in watched hours: first tokens of minutes ago were late by the one window that began where none were."""
    at = course()
    assert see(at, *(bad(t, seconds=5.0) for t in range(0, 60, 10)), bad(60, seconds=130.0), bad(70, seconds=5.0)) == []
    assert see(at, bad(80, seconds=130.0), bad(90, seconds=130.0)) == ["opened open"]


def test_what_came_and_went_before_must_last_longer_to_be_news_again():
    at = course()
    assert see(at, bad(0, LASTS_S), bad(10, LASTS_S), good(20), good(30)) == ["opened open", "recovered recovered"]
    assert see(at, *(bad(t, seconds=LASTS_S) for t in range(100, 160, 10))) == []
    assert see(at, bad(180, seconds=2 * LASTS_S), good(190), good(195)) == ["opened open", "recovered recovered"]
    assert see(at, *(bad(t, seconds=3 * LASTS_S) for t in range(200, 260, 10))) == []
    assert see(at, bad(280, seconds=4 * LASTS_S), good(290), good(295)) == ["opened open", "recovered recovered"]
    later = at.not_before + DAMPED_S + 1
    assert see(at, bad(later, LASTS_S), bad(later + 10, LASTS_S)) == ["opened open"]


def test_another_cause_is_news_at_once():
    at = course()
    see(at, bad(0, LASTS_S), bad(10, LASTS_S), good(20), good(30))
    first = msgspec.structs.replace(BAD.causes[0], id="another")
    another = losing(msgspec.structs.replace(BAD, causes=(first,)), 60.0, LASTS_S)
    assert see(at, Look(50, another, BAD), Look(60, another, BAD)) == ["opened open"]


def test_an_untold_loss_must_last_longer_too():
    at = course()
    untold = [Look(t, losing(UNTOLD, t, LASTS_S + 10), UNTOLD) for t in range(0, 60, 10)]
    assert see(at, *untold) == []
    assert see(at, Look(70, losing(UNTOLD, 70, 2 * LASTS_S), UNTOLD)) == ["opened open"]


def test_a_relapse_while_it_is_open_is_the_same_incident():
    at = course()
    assert see(at, bad(0), bad(10), good(20), bad(30), good(40), bad(50)) == ["opened open"]


def test_a_loss_without_a_cause_opens_later():
    assert hurts(UNTOLD)
    at = course()
    untold = [Look(t, losing(UNTOLD, t), UNTOLD) for t in range(4)]
    assert see(at, *untold[:3]) == []
    assert see(at, untold[3]) == ["opened open"]
    assert at.incident.cause == ""


def test_the_cause_that_comes_later_is_told_once():
    at = course()
    see(at, *(Look(t, losing(UNTOLD, t), UNTOLD) for t in range(4)))
    assert see(at, bad(5), bad(6), bad(7)) == ["updated open"]
    assert at.incident.cause == BAD.causes[0].id
    assert at.incident.first_step == BAD.remedies[0].text


def test_no_page_opens_at_once_and_an_open_one_is_not_doubled():
    gone = Look(50, unreachable=Text("nothing answers"))
    assert see(course(), gone) == ["opened open"]
    at = course()
    assert see(at, bad(0), bad(10), gone) == ["opened open"]


def test_a_warning_becomes_the_incident():
    at = course()
    warned = [Look(t, GOOD, forecast=SOON) for t in (0, 10, 20)]
    assert see(at, *warned) == ["opened warning"]
    uid = at.incident.uid
    assert see(at, bad(30), bad(40)) == ["updated open"]
    assert at.incident.uid == uid
    assert [step.id for step in at.incident.steps] == ["warned", "began", "opened"]


def test_a_warning_that_did_not_come_true_ends():
    at = course()
    see(at, *(Look(t, GOOD, forecast=SOON) for t in (0, 10)))
    assert see(at, Look(20, GOOD), Look(30, GOOD)) == ["recovered recovered"]


def test_a_promise_that_burns_is_an_incident_without_a_cause():
    burning = [Look(t, GOOD, burn=(Burn("ttft_p95", 20.0, 15.0),)) for t in (0, 10)]
    at = course()
    assert see(at, *burning) == ["opened open"]
    assert at.incident.kind == "slo"
    assert see(course(), *(Look(t, GOOD, burn=(Burn("ttft_p95", 20.0, 1.0),)) for t in (0, 10))) == []


def test_late_tokens_keep_it_open():
    at = course()
    see(at, bad(0), bad(10))
    late = [Look(t, BAD, GOOD, late=True) for t in (20, 30, 40)]
    assert see(at, *late) == []
    assert calm(GOOD)
    assert see(at, Look(50, GOOD, GOOD, late=True), Look(60, GOOD, GOOD, late=True)) == ["recovered recovered"]


def test_whoever_it_depended_on_is_back():
    at = course()
    assert at.end(5) == []
    see(at, Look(0, unreachable=Text("nothing answers"), lost_since=-9.0))
    (ended,) = at.end(5)
    assert (ended.what, ended.incident.since, ended.incident.recovered) == ("recovered", -9.0, 5)
