import json

import jsonschema
import pytest

import findings
from whystall.errors import Unreachable, UsageError
from whystall.reports import render
from whystall.reports.json import error_json
from whystall.reports.schema import FOLDER, NOUNS, published, schema


@pytest.mark.parametrize("name", sorted(NOUNS))
def test_the_published_file_is_current(name):
    assert (FOLDER / f"{name}.json").read_text("utf-8") == published(name), "run python -m whystall.reports.schema"


@pytest.mark.parametrize("name", sorted(NOUNS))
def test_the_published_file_is_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_nothing_else_is_published():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(NOUNS)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("make", [findings.bottleneck, findings.healthy, findings.unknown, findings.several])
def test_what_is_printed_keeps_to_it(make, lang):
    body = json.loads(render(make(), "json", lang))
    jsonschema.validate(body, schema("diagnosis"), cls=jsonschema.Draft202012Validator)


def test_the_schema_refuses_what_is_not_a_diagnosis():
    body = json.loads(render(findings.bottleneck(), "json"))
    for broken in (body | {"verdict": "maybe"}, body | {"causes": None}, {"schema": "whystall.diagnosis/1"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema("diagnosis"))


def test_an_error_keeps_to_its_schema():
    body = json.loads(error_json(Unreachable("nothing answers at http://x", "Is it running?")))
    jsonschema.validate(body, schema("error"))
    assert body == {
        "schema": "whystall.error/1",
        "error": "nothing answers at http://x",
        "hint": "Is it running?",
        "exit_code": 3,
    }


def test_an_unknown_schema_is_refused_by_name():
    with pytest.raises(UsageError, match="nothing"):
        schema("nothing")


@pytest.mark.parametrize("name", NOUNS)
def test_an_object_names_the_file_of_its_schema(name: str) -> None:
    found = schema(name)
    body = found["$defs"][found["$ref"].rpartition("/")[2]] if "$ref" in found else found
    assert body["properties"]["schema"]["enum"] == [f"whystall.{name}/1"] == [found["title"]]
