from msgspec.structs import replace

from whystall.model.diagnosis import Engine
from whystall.model.incident import Happening, Incident, IncidentStep
from whystall.model.text import Text
from whystall.reports.incident_line import incident_line, lasted

OPEN = Incident(
    uid="u", id=3, key="a/limit", engine_id="a", target="http://a", engine=Engine(), kind="limit", state="open",
    verdict="bottleneck", headline=Text("KV cache too small", "KV 缓存太小"), since=0.0, opened=30.0, updated=30.0,
    steps=(IncidentStep("opened", 30.0, Text("x")),),
)  # fmt: skip
CLOSED = replace(OPEN, state="recovered", recovered=300.0, updated=330.0)


def test_one_line_each():
    told = incident_line(Happening("opened", OPEN), "en")
    assert told == "1970-01-01 00:00:30 UTC OPENED #3 a: KV cache too small (since 00:00:00)"
    told = incident_line(Happening("recovered", CLOSED), "en")
    assert told == "1970-01-01 00:05:30 UTC RECOVERED #3 a: KV cache too small (after 5 min)"
    assert "已恢复" in incident_line(Happening("recovered", CLOSED), "zh")


def test_a_target_that_left_is_not_called_recovered():
    left = replace(CLOSED, steps=(*CLOSED.steps, IncidentStep("left", 300.0, Text("x"))))
    assert " LEFT #3 " in incident_line(Happening("recovered", left), "en")
    assert "已离开" in incident_line(Happening("recovered", left), "zh")


def test_what_began_on_another_day_says_which():
    told = incident_line(Happening("updated", replace(OPEN, since=86_390.0, updated=86_410.0)), "en")
    assert told.startswith("1970-01-02 00:00:10 UTC CHANGED")
    assert told.endswith("(since 1970-01-01 23:59:50)")


def test_warnings_are_called_so():
    warning = replace(OPEN, state="warning", steps=())
    assert " WARNING " in incident_line(Happening("opened", warning), "en")
    assert " PASSED " in incident_line(Happening("recovered", replace(CLOSED, steps=())), "en")


def test_a_silenced_one_says_why_and_nothing_moves_the_cursor():
    line = incident_line(Happening("opened", replace(OPEN, silenced="maintenance", headline=Text("a\x1b[2Jb"))), "en")
    assert "[maintenance]" in line
    assert "\x1b" not in line


def test_lengths():
    assert [lasted(s).en for s in (5, 600, 9000)] == ["5 s", "10 min", "2.5 h"]
