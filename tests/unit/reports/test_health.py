"""A health report in words: a line, some lines, a page."""

from __future__ import annotations

from msgspec.structs import replace

from kept_incidents import INCIDENT
from whystall.model.health import EngineHealth, HealthReport
from whystall.model.text import Text
from whystall.reports.health import MOST_LINES, health_lines, health_markdown, health_title

FINE = EngineHealth("fine", "ok", Text("Healthy", "健康"), 0, 0.0, 0.5)
BAD = EngineHealth("bad", "incident", Text("KV cache too small", "KV 缓存不足"), 2, 600.0, 0.0)
REPORT = HealthReport(1_800_000_000.0 - 86_400, 1_800_000_000.0, (BAD, FINE), (replace(INCIDENT, since=1.79995e9),))


def test_a_line_says_it():
    assert health_title(REPORT).en == "Health, engines 2: 1 in an incident, 1 in order; incidents: 1"
    assert health_title(REPORT).zh == "2 个引擎的健康报告：1 个事件中、1 个正常；1 起事件"


def test_some_lines_name_who_had_trouble():
    assert health_lines(REPORT, "en") == [
        "2027-01-14 08:00 to 2027-01-15 08:00 UTC", "bad: incidents: 2, 10 min; KV cache too small",
    ]  # fmt: skip
    many = replace(REPORT, engines=tuple(replace(BAD, id=f"e{n}") for n in range(30)))
    assert len(health_lines(many, "en")) == MOST_LINES + 2
    assert health_lines(many, "zh")[-1] == "另有 20 个"
    own = health_lines(replace(REPORT, late_s=30.0, store_error=Text("full", "满")), "en")
    assert own[-2:] == ["The watch itself was late for 30 s lately.", "The store cannot be written: full"]


def test_the_page_has_all_and_what_a_server_says_is_only_text():
    page = health_markdown(REPORT, "en")
    assert "| bad | in an incident | incidents: 2, 10 min | 0% | KV cache too small |" in page
    assert "| fine | in order | no incident | 50% | Healthy |" in page
    assert "- #1 a, " in page
    hostile = replace(BAD, id="x|<script>", headline=Text("[a](javascript:1)\n# b"))
    shown = health_markdown(replace(REPORT, engines=(hostile,), incidents=()), "zh")
    assert "x\\|\\<script\\>" in shown
    assert "\n# b" not in shown
    assert "[a](" not in shown
    assert "无。" in shown
