import msgspec

from states import state_of
from whystall.causes.judge import judge
from whystall.reports.finding import Finding
from whystall.reports.several import several


def found() -> Finding:
    return Finding(judge(state_of({"seconds": 30}), "t"))


def test_one_server_stays_as_it_is() -> None:
    one = found()
    assert several({"a:8000": one}) is one


def test_several_servers_are_engines_under_their_names_with_the_worst_on_top() -> None:
    calm = found()
    ill = msgspec.structs.replace(calm, diagnosis=msgspec.structs.replace(calm.diagnosis, verdict="bottleneck"))
    both = several({"a:8000": calm, "b:8000": ill})
    assert both.diagnosis.verdict == "bottleneck"
    assert both.diagnosis.engine.id.startswith("b:8000")
    assert [engine.diagnosis.engine.id.split()[0] for engine in both.engines] == ["a:8000", "b:8000"]
    assert len(both.diagnosis.engines) == 2
