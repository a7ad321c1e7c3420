from whystall.model.text import Text
from whystall.profiles.request_timeline import RequestStep, RequestTimeline
from whystall.profiles.spans import RequestTime
from whystall.profiles.summary import FamilyTime, StepTime
from whystall.reports.trace_request import render_request, request_sheets


def timeline(steps: int) -> RequestTimeline:
    request = RequestTime("cmpl-1", "t", 0, 100, 10, 20, 30, 40, 0, None, None)
    step = StepTime(0, "x", "decode", 0, 0, 1, 1, 5, 9, 6, 8, 2, 2, 1, 0, {})
    entries = tuple(RequestStep("f", step, 5, 9, "decode") for _ in range(steps))
    family = FamilyTime("gemm", Text("GEMM"), 1, 2, 1.0)
    return RequestTimeline(Text("It took long."), request, entries, (family,), 2, 1.0)


def test_the_waterfall_is_a_staircase() -> None:
    waterfall, *_ = request_sheets(timeline(1), "en")
    bars = [row[-1] for row in waterfall.rows]
    assert bars[0] == "█" * 4 + "·" * 36
    assert bars[3] == "·" * 24 + "█" * 16
    assert [row[3] for row in waterfall.rows] == ["10%", "20%", "30%", "40%", "0%"]


def test_long_lists_are_cut_and_say_so() -> None:
    text = render_request(timeline(100), "en")
    assert "and 60 more steps" in text
    assert text.startswith("It took long.\ncmpl-1")
