import pytest
from msgspec.structs import replace

from kept_incidents import INCIDENT
from watched_pages import START, Emulated
from whystall.evidence.thresholds import level
from whystall.model.diagnosis import Engine
from whystall.model.fleet import StoreState
from whystall.service.server import Server, Watching
from whystall.service.view import engine_view, fleet


def told(emulated: Emulated) -> list[tuple[str, str, str]]:
    return [(h.what, h.incident.kind, h.incident.cause) for h in emulated.happened]


def test_a_healthy_server_is_left_alone():
    emulated = Emulated()
    assert emulated.run(900) == []
    assert emulated.looks <= 25  # a look a minute, and a few more


def test_an_incident_opens_once_and_closes_when_it_ends():
    emulated = Emulated("kv_capacity", at=300, until=500)
    emulated.run(900)
    assert told(emulated) == [("opened", "limit", "kv_capacity"), ("recovered", "limit", "kv_capacity")]
    opened, closed = (h.incident for h in emulated.happened)
    assert opened.since - START == pytest.approx(302, abs=8)
    assert opened.opened - START < 345
    assert closed.uid == opened.uid
    assert 500 <= closed.recovered - START <= 600
    assert [step.id for step in closed.steps] == ["began", "opened", "recovered"]
    assert emulated.lookout.open_incidents() == []


def test_slower_steps_are_not_over_while_they_last():
    """A last minute without a past to compare with looks healthy; the time before the incident says otherwise."""
    emulated = Emulated("gpu_throttle", at=300, until=600)
    emulated.run(1200)
    assert [what for what, _, _ in told(emulated)] == ["opened", "recovered"]
    closed = emulated.happened[-1].incident
    assert closed.updated - START >= 600  # it is not closed while it lasts
    assert closed.recovered - START >= 600 - level("late_min")  # a calm minute may begin with so much of it


@pytest.mark.parametrize("fault", ["engine_loop_cpu", "slow_kernel"])
def test_steps_that_are_all_slow_are_seen(fault):
    emulated = Emulated(fault, at=300, until=600, interval_s=10.0)
    emulated.run(480)
    assert [what for what, _, _ in told(emulated)][:1] == ["opened"]


def test_a_server_that_does_not_answer_is_one_incident():
    emulated = Emulated()
    emulated.run(400, lambda t: not 200 < t <= 300)
    assert [(what, kind) for what, kind, _ in told(emulated)] == [
        ("opened", "unreachable"),
        ("recovered", "unreachable"),
    ]


def test_where_pages_are_lost_all_the_time_three_in_a_row_are_chance():
    lost = {60, 105, 180, 240, 255, 270, 330}  # of scrapes each 15 s; three in a row over 30 s
    emulated = Emulated(interval_s=15.0)
    emulated.run(400, lambda t: t not in lost)
    assert told(emulated) == []
    emulated.run(200, lambda t: t < 450)  # and ten in a row are none
    assert [(what, kind) for what, kind, _ in told(emulated)] == [("opened", "unreachable")]


def test_a_lost_scrape_is_no_incident():
    emulated = Emulated()
    assert emulated.run(400, lambda t: int(t) not in (200, 205, 300)) == []


def test_a_server_that_never_answered_is_named():
    emulated = Emulated()
    (happened,) = emulated.run(60, lambda _t: False)
    assert "nothing answers" in happened.incident.headline.en
    assert fleet(emulated.lookout, StoreState(""), 0.0).engines[0].condition == "unreachable"


def test_the_views_show_the_incident():
    emulated = Emulated("kv_capacity", at=300, until=900)
    emulated.run(400)
    (engine,) = fleet(emulated.lookout, StoreState(""), 0.0).engines
    assert (engine.condition, engine.binding_limit) == ("incident", "kv_capacity")
    assert engine.headroom.limit == "kv_blocks"
    assert engine.headroom.left_ratio < 0.1
    found = emulated.lookout.engine("a")
    view = engine_view(*found, [])
    assert [panel.id for panel in view.panels][:3] == ["requests", "kv", "tokens"]
    assert view.onsets[0].id == "kv_capacity"
    assert len(view.phases[0].values) == len(view.phases_t)
    assert {one.id for one in view.usual} == {"itl_s", "ttft_s", "tokens_per_s", "running"}


@pytest.mark.parametrize(("id", "label"), [("a", "0"), ("a~1", "1"), ("prom~x-1", "0")])
def test_an_open_incident_goes_on_at_its_engine_after_a_restart(id, label):
    server = Server(id.removesuffix("~1"), "http://a", None, Watching())
    server.resume(replace(INCIDENT, engine_id=id, engine=Engine(id=label)))
    assert server.engines[label].course.incident.uid == "u"
    assert list(server.engines) == [label]
