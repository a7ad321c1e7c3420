import json

import jsonschema
import pytest

from whystall.cli import run
from whystall.reports.schema import schema


@pytest.fixture
def recordings(data):
    return data / "recordings"


def test_two_recordings_are_compared(recordings, capsys):
    assert run(["compare", str(recordings / "healthy"), str(recordings / "seq_cap")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Most changed: TTFT, mean")
    assert "max_num_seqs" in "".join(lines[:8])


def test_json_keeps_to_the_published_schema(recordings, capsys):
    assert run(["compare", str(recordings / "healthy"), str(recordings / "prefix_collapse"), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    jsonschema.validate(body, schema("comparison"))
    assert {change["id"] for change in body["figures"] if change["differs"]} >= {"prompt_tokens", "ttft_mean"}


def test_in_chinese_as_markdown_into_a_file(recordings, tmp_path):
    file = tmp_path / "difference.md"
    arguments = ["compare", str(recordings / "healthy"), str(recordings / "healthy"), "--lang", "zh", "-o", str(file)]
    assert run(arguments) == 0
    assert file.read_text("utf-8").startswith("# 用户能感受到的指标差异均不足一成\n没有指标离开")


def test_what_is_not_there_is_named(recordings, capsys):
    assert run(["compare", str(recordings / "healthy"), "./no-such-folder", "--json"]) == 2
    body = json.loads(capsys.readouterr().out)
    assert "no-such-folder" in body["error"]
    assert body["hint"]
