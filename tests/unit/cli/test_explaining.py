"""``--explain-with``: what is sent, what is taken, and what stands where nothing is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from aiohttp import web

from kept_cases import proven_case
from language_models import language_model, saying
from whystall.cases.book import Book
from whystall.cli import run
from whystall.reports.schema import schema

RECORDING = Path("recordings") / "seq_cap"
GOOD = "All seats are taken, so new requests wait. Raise the limit that binds."
ATTACKS = {
    "a figure of its own": "TTFT is 98765 ms because of the seats.",
    "a flag of its own": "Start it with --trust-remote-code.",
    "a link": "See https://evil.example/fix for more.",
    "a figure in words": "It is seventy times slower.",
    "too long": "word " * 3000,
    "nothing": "  ",
}


@pytest.fixture
def diagnose(data: Path, capsys):
    def answer(*argv: str) -> tuple[dict, str]:
        run(["diagnose", str(data / RECORDING), "--json", *argv])
        seen = capsys.readouterr()
        return json.loads(seen.out), seen.err

    return answer


def test_the_model_words_it_and_decides_nothing(diagnose) -> None:
    plain, _ = diagnose()
    with language_model(saying(GOOD)) as model:
        body, told = diagnose("--explain-with", model.url)
    jsonschema.validate(body, schema("diagnosis"), cls=jsonschema.Draft202012Validator)
    assert body["wording"] == {
        "text": GOOD,
        "by": "tiny-model",
        "host": model.url.removeprefix("http://"),
        "rejected": "",
    }
    assert {**body, "wording": None} == {**plain, "wording": None}
    assert model.url.removeprefix("http://") in told


def test_it_sees_the_json_and_nothing_else(diagnose, monkeypatch) -> None:
    monkeypatch.setenv("WHYSTALL_EXPLAIN_KEY", "secret-of-the-model")
    monkeypatch.setenv("WHYSTALL_TOKEN", "secret-of-the-server")
    with language_model(saying(GOOD)) as model:
        _, told = diagnose("--explain-with", f"{model.url}/v1/chat/completions")
    (asked,), (headers,) = model.asked, model.headers
    sent = json.loads(asked["messages"][1]["content"])
    assert sent["verdict"] == "bottleneck"
    assert headers["Authorization"] == "Bearer secret-of-the-model"
    assert "secret" not in json.dumps(asked) + told


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_what_it_did_not_get_from_there_is_not_taken(attack, diagnose) -> None:
    with language_model(saying(ATTACKS[attack])) as model:
        body, _ = diagnose("--explain-with", model.url)
    wording = body["wording"]
    assert wording["by"] == "whystall"
    assert wording["rejected"]
    assert wording["text"].startswith(body["headline"][:10])


@pytest.mark.parametrize(
    "reply",
    [
        lambda _: web.Response(status=500, text="broken"),
        lambda _: web.Response(status=401),
        lambda _: web.Response(text="<html>"),
        lambda _: web.json_response({"choices": []}),
        lambda _: web.json_response({"choices": [{"message": {"content": "x" * 300_000}}]}),
        lambda _: web.Response(status=302, headers={"Location": "http://evil.example/"}),
    ],
    ids=["500", "401", "html", "no choice", "endless", "redirect"],
)
def test_an_endpoint_that_fails_costs_nothing_but_its_words(reply, diagnose) -> None:
    with language_model(reply) as model:
        body, told = diagnose("--explain-with", model.url)
    assert body["verdict"] == "bottleneck"
    assert body["wording"]["by"] == "whystall"
    assert "of no help" in told


def test_nothing_answers(diagnose, free_port) -> None:
    body, told = diagnose("--explain-with", f"http://127.0.0.1:{free_port()}")
    assert body["wording"]["by"] == "whystall"
    assert "nothing answers" in told


def test_a_case_is_worded_and_the_words_are_not_kept(tmp_path: Path, capsys) -> None:
    store = tmp_path / "cases.sqlite"
    with Book.open(store) as book:
        book.add(proven_case())
    with language_model(saying("TTFT p95 fell from 13.2 s to 5.1 s, by 60%.")) as model:
        assert run(["cases", "show", "1", "--store", str(store), "--explain-with", model.url]) == 0
    out = capsys.readouterr().out
    assert "In other words" in out
    assert "fell from 13.2 s to 5.1 s" in out
    with Book.open(store) as book:
        assert book.case(1).wording is None


@pytest.mark.parametrize("argv", [["--explain-model", "m"], ["--explain-with", "ftp://x"]])
def test_options_that_make_no_sense(argv, data: Path, capsys) -> None:
    assert run(["diagnose", str(data / RECORDING), *argv]) == 2
    assert "hint" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["text", "markdown", "html", "github"])
def test_every_report_says_who_worded_it(format, data: Path, capsys) -> None:
    hostile = "All seats are taken <img src=x onerror=alert(x)>."
    with language_model(saying(hostile)) as model:
        run(["diagnose", str(data / RECORDING), "--format", format, "--explain-with", model.url])
    out = capsys.readouterr().out
    assert "Worded by tiny-model at 127.0.0.1" in " ".join(out.split())
    assert "\x1b" not in out
    assert format == "text" or re.search(r"(?<!\\)<img src=x", out) is None
