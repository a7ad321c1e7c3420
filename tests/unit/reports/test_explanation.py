import json

import jsonschema
import pytest

from whystall.causes.catalogue import catalogue
from whystall.causes.explanation import explain
from whystall.errors import UsageError
from whystall.reports.explanation import EXPLANATION_FORMATS, render_explanation
from whystall.reports.schema import schema


@pytest.mark.parametrize("format", EXPLANATION_FORMATS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("word", [*sorted(catalogue()), "ttft", "gpu_cache_usage_perc"])
def test_every_cause_renders(word, lang, format):
    text = render_explanation(explain(word), format, lang)
    found = explain(word)
    assert (found.cause.id if found.cause else found.metric.name).replace("_", "") in text.replace("\\", "").replace(
        "_", ""
    )


@pytest.mark.parametrize("word", ["kv_capacity", "itl"])
def test_json_keeps_to_its_schema(word):
    jsonschema.validate(json.loads(render_explanation(explain(word), "json")), schema("explanation"))


def test_what_tells_look_alikes_apart_is_there():
    text = render_explanation(explain("kv_capacity"), "text", width=120)
    assert "running equals max_num_seqs and blocks are free" in text
    assert "kv.saturated" in text


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="html"):
        render_explanation(explain("ttft"), "html")
