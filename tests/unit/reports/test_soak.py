import json

import jsonschema
import pytest

from whystall.errors import UsageError
from whystall.model.soak import Soak, SoakWindow, Trend
from whystall.model.text import Text
from whystall.reports.schema import schema
from whystall.reports.soak import render_soak

FOUND = Soak(
    target="http://a:8000",
    verdict="worse",
    because=Text("over the run it got worse: E2E p95 +40%", "运行期间变差：E2E p95 +40%"),
    windows=(SoakWindow(1_790_000_000.0, 60.0, 200, 1, {"e2e_p95": 2.0, "ttft_p95": None}),),
    trends=(
        Trend("e2e_p95", 0.3, 0.4, 0.5, 2.4, 1_790_003_600.0),
        Trend("ttft_p95", None, None, None, 0.2, 1_790_000_000.0),
    ),
    requests=200,
    failed=1,
    seconds=7200.0,
    load="4 requests/s",
    attainment=0.97,
)


def test_text_says_the_verdict_first():
    text = render_soak(FOUND, "text", "en", 120)
    assert text.startswith("Getting worse: over the run it got worse: E2E p95 +40%\n")
    assert "97% of the requests were within the SLO" in text
    row = next(line for line in text.splitlines() if line.strip().startswith("E2E p95"))
    assert row.split()[2:6] == ["+40.0%", "+30.0%", "to", "+50.0%"]
    assert "15:13:20 UTC" in row


def test_chinese_is_chinese():
    assert render_soak(FOUND, "text", "zh", 100).startswith("逐渐变差：运行期间变差")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_keeps_to_its_schema(lang):
    jsonschema.validate(json.loads(render_soak(FOUND, "json", lang)), schema("soak"))


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="github"):
        render_soak(FOUND, "github")
