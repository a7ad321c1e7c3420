"""The verb's options, refusals and exit codes; the run itself is in tests/integration."""

import json
from pathlib import Path

import click
import msgspec
import pytest

import trial_samples
from whystall.cli import run
from whystall.cli.loading import token_span
from whystall.cli.trial import exit_code

Capture = pytest.CaptureFixture[str]
VLLM = {
    "completed": 300,
    "duration": 60.0,
    "request_throughput": 5.0,
    "output_throughput": 1000.0,
    "total_output_tokens": 60000,
    "request_rate": 5.0,
    "mean_e2el_ms": 2000.0,
    "p95_ttft_ms": 100.0,
}


def results(folder: Path) -> tuple[str, str]:
    paths = folder / "a.json", folder / "b.json"
    for path, latency in zip(paths, (2000.0, 1500.0), strict=True):
        path.write_text(json.dumps(VLLM | {"mean_e2el_ms": latency}))
    return str(paths[0]), str(paths[1])


def test_two_results_are_compared_without_any_load(tmp_path: Path, capsys: Capture) -> None:
    a, b = results(tmp_path)
    code = run(["trial", "--a-result", a, "--b-result", b, "--json"])
    out = capsys.readouterr().out
    body = json.loads(out)
    assert (code, body["verdict"], body["design"]) == (3, "INCONCLUSIVE", "single")
    assert next(e["mid"] for e in body["effects"] if e["metric"] == "e2e_mean") == pytest.approx(-0.25)


def test_for_github_the_summary_goes_to_its_file(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = results(tmp_path)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code = run(["trial", "--a-result", a, "--b-result", b, "--format", "github"])
    out = capsys.readouterr().out
    assert code == 3
    assert out.startswith("::warning title=whystall trial::INCONCLUSIVE")
    assert "## Effects of B" not in out
    assert "## Effects of B" in summary.read_text()


def test_nothing_is_sent_without_permission(capsys: Capture) -> None:
    code = run(["trial", "--a", ":1", "--b", ":2", "--rate", "3"])
    err = capsys.readouterr().err
    assert code == 2
    assert "nothing was sent without --send-load" in err
    assert "3 requests/s" in err


def test_a_protected_server_gets_no_load(tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "whystall.toml"
    config.write_text('protected = ["http://prod:8000"]\n')
    code = run(["trial", "--a", "http://prod:8000", "--b", ":2", "--rate", "3", "--send-load", "--config", str(config)])
    err = capsys.readouterr().err
    assert code == 2
    assert "protected" in err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--a", ":1"], "two servers or two results"),
        (["--a", ":1", "--b", ":2", "--send-load"], "the load is not given"),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--clients", "2", "--send-load"], "given twice"),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--prompt", "9-2"], "out of range"),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--prompt", "many"], "no length"),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--minimum-effect", "2"], "no effect"),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--send-load", "--metric", "goodput"], "needs an SLO"),
        (
            ["--a", ":1", "--b", ":2", "--rate", "1", "--send-load", "--metric", "output_tokens"],
            "neither more nor less",
        ),
        (["--a", ":1", "--b", ":2", "--rate", "1", "--send-load"], "nothing answers"),
    ],
)
def test_what_is_wrong_is_named(argv: list[str], told: str, capsys: Capture) -> None:
    code = run(["trial", *argv])
    err = capsys.readouterr().err
    assert code in (2, 3)
    assert told in err


def test_an_empty_trace_is_refused(tmp_path: Path, capsys: Capture) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    code = run(["trial", "--a", ":1", "--b", ":2", "--trace", str(trace), "--send-load"])
    err = capsys.readouterr().err
    assert code == 2
    assert "holds no request" in err


def test_exit_codes() -> None:
    codes = {
        (goal, verdict): exit_code(msgspec.structs.replace(trial_samples.trial(), verdict=verdict), goal)
        for goal in ("improve", "no-regression")
        for verdict in ("WIN", "HARM", "FUTILE", "INCONCLUSIVE")
    }
    assert {key for key, code in codes.items() if code == 0} == {
        ("improve", "WIN"),
        ("no-regression", "WIN"),
        ("no-regression", "FUTILE"),
    }
    assert {verdict for (_, verdict), code in codes.items() if code == 1} == {"HARM"}


def test_spans_of_tokens() -> None:
    option = click.Option(["--prompt"])
    assert token_span(click.Context(click.Command("x")), option, "500") == (500, 500)
    assert token_span(click.Context(click.Command("x")), option, "200-800") == (200, 800)
