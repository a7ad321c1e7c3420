"""``whystall lab run --json`` keeps to its schema."""

import json

import jsonschema
import pytest

from whystall.cli import run
from whystall.reports.schema import schema


def test_the_result_of_an_experiment_keeps_to_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "run", "kv-overflow", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, schema("lab"))
    assert (result["cause"], result["verdict"], result["causes"][0]) == ("kv_capacity", "bottleneck", "kv_capacity")
    assert result["as_expected"]
