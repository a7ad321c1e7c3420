import json

import jsonschema
import msgspec
import pytest

from whystall.errors import UsageError
from whystall.model.capacity import Capacity, CapacityPoint
from whystall.model.diagnosis import Notice
from whystall.model.text import Text
from whystall.reports.capacity import render_capacity
from whystall.reports.schema import schema

HELD = CapacityPoint(4.0, "holds", 230, 60.0, 0.99, False, {"ttft_p95": 0.3, "tokens_per_s": 400.0})
FAILED = CapacityPoint(4.3, "fails", 231, 58.0, 0.6, True, {"ttft_p95": 3.0}, ("slo", "queue"))
FOUND = Capacity(
    target="http://a:8000",
    slo="ttft_p95=0.5s",
    attainment=0.9,
    rate=4.0,
    fails_at=4.3,
    because=Text("90% of requests are within the SLO up to 4 requests/s", "4 请求/秒以内 90% 满足"),
    points=(FAILED, HELD),
    seconds=700.0,
    load="4 requests/s",
    findings=(Notice("client_cpu", Text("near its limit", "接近上限")),),
)


def test_text_says_the_capacity_first_and_the_rates_in_order():
    lines = render_capacity(FOUND, "text", "en", 120).splitlines()
    assert lines[0] == "Capacity: 4 requests/s within ttft_p95=0.5s"
    rows = [line for line in lines if "holds" in line or "fails" in line]
    assert rows[0].split()[:3] == ["4", "holds", "99%"]
    assert "fails (SLO, queue grows)" in rows[1]
    assert "client_cpu" in lines[-1]


def test_what_was_not_found_is_said_in_chinese_too():
    open_end = msgspec.structs.replace(FOUND, fails_at=None)
    assert render_capacity(open_end, "text", "en").startswith("The capacity was not found")
    assert render_capacity(open_end, "text", "zh").startswith("未能确定容量")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_keeps_to_its_schema(lang):
    jsonschema.validate(json.loads(render_capacity(FOUND, "json", lang)), schema("stress"))


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="html"):
        render_capacity(FOUND, "html")
