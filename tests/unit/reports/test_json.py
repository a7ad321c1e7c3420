import json

import msgspec
import numpy as np

import findings
from whystall.model.diagnosis import Impact
from whystall.reports import Finding, render

# DESIGN.md, section 2.
CONTRACT = "schema target engine window verdict headline causes ruled_out evidence remedies anomalies impact coverage"


def test_the_contract_is_there_and_the_schema_comes_first():
    body = json.loads(render(findings.bottleneck(), "json"))
    assert set(CONTRACT.split()) <= set(body)
    assert next(iter(body)) == "schema"
    cause = body["causes"][0]
    assert cause["onset"] == {"seconds": 15.0, "low": 13.0, "high": 17.0}
    assert cause["limit"]["known"] == "reported"
    assert body["evidence"][0]["from"] == "metrics"
    assert body["remedies"][0]["change"] == {"--kv-cache-dtype": "fp8"}


def test_what_is_no_number_is_null():
    text = render(findings.unknown(), "json")
    assert "NaN" not in text
    assert json.loads(text)["impact"]["ttft_p95_s"] is None


def test_texts_are_in_the_language_asked_for():
    assert json.loads(render(findings.bottleneck(), "json", "zh"))["headline"].startswith("KV 块耗尽")


def test_several_engines_are_all_there():
    body = json.loads(render(findings.several(), "json"))
    assert [one["verdict"] for one in body["engines"]] == ["bottleneck", "healthy"]


def test_hostile_text_is_kept_as_it_was():
    label = "\x1b[31m</script>"
    assert json.loads(render(findings.hostile(label), "json"))["target"] == label


def test_numbers_of_an_array_are_numbers():
    impact = Impact(ttft_p95_s=np.float64(0.25), queue_s=np.float64("nan"))
    finding = Finding(msgspec.structs.replace(findings.healthy().diagnosis, impact=impact))
    body = json.loads(render(finding, "json"))["impact"]
    assert body["ttft_p95_s"] == 0.25
    assert body["queue_s"] is None
