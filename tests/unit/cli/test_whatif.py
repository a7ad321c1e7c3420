import json

import jsonschema
import pytest

from whystall.cli import run
from whystall.reports.schema import schema


@pytest.fixture
def seq_cap(data):
    return str(data / "recordings" / "seq_cap")


def test_a_change_is_predicted_in_the_published_schema(seq_cap, capsys):
    assert run(["whatif", seq_cap, "--set", "max-num-seqs=96", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    jsonschema.validate(body, schema("whatif"))
    (found,) = body["predictions"]
    assert (found["advice"], found["draws"]) == ("recommend", 20)
    assert body["headline"].startswith("--max-num-seqs 96: recommended")


def test_what_would_not_start_exits_2_with_the_reason(seq_cap, capsys):
    assert run(["whatif", seq_cap, "--set", "max-num-seqs=0"]) == 2
    assert "refuse to start" in capsys.readouterr().err


def test_what_cannot_be_said_exits_3(seq_cap, capsys):
    assert run(["whatif", seq_cap, "--set", "speculative-config={}"]) == 3
    assert "drafted" in capsys.readouterr().out


def test_nothing_asked_exits_2(seq_cap, capsys):
    assert run(["whatif", seq_cap]) == 2
    assert run(["whatif", seq_cap, "--sweep", "a=1,2", "--sweep", "b=1,2"]) == 2
    assert "nothing was asked" in capsys.readouterr().err


def test_diagnose_predicts_when_asked(seq_cap, capsys):
    assert run(["diagnose", seq_cap, "--predict", "--json"]) == 1
    first = json.loads(capsys.readouterr().out)["remedies"][0]
    assert first["prediction"]["advice"] == "recommend"
    assert first["effect"]["ttft_p95"]["high"] < -0.5
