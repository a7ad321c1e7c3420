"""``whystall diagnose`` from the command line, on the recordings that every clone has; ``truth.json`` only judges."""

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest

from whystall.cli import run
from whystall.cli.diagnose import EXIT_CODES
from whystall.reports.schema import schema
from whystall.sources.replay import serve_replay

DATA = Path(__file__).resolve().parents[1] / "data" / "recordings"
TRUTH = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))
EXPLAIN_IDLENESS = {"low_demand", "client_limited"}


def diagnosis(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    capsys.readouterr()
    code = run(["diagnose", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def right(answer: dict, truth: dict) -> bool:
    """Whether an answer is one that the answer sheet accepts."""
    named = [cause["id"] for cause in answer["causes"]]
    if answer["verdict"] not in truth["verdict"]:
        return False
    if answer["verdict"] == "bottleneck":
        return bool(named) and named[0] in truth["causes"]
    return set(named) <= EXPLAIN_IDLENESS or answer["verdict"] == "unknown"


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_a_recording_gets_its_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = diagnosis(capsys, str(DATA / name))
    truth = TRUTH[name]
    assert right(answer, {**truth, "verdict": [truth["verdict"]]}), (answer["verdict"], answer["causes"])
    assert code == EXIT_CODES[answer["verdict"]]
    jsonschema.validate(answer, schema("diagnosis"))
    if truth["onset_s"] is not None:
        assert abs(answer["causes"][0]["onset"]["seconds"] - truth["onset_s"]) <= 5


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_the_metrics_alone_do_not_mislead(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(DATA / name / "metrics.prom.gz", tmp_path)
    _, answer = diagnosis(capsys, str(tmp_path))
    truth = TRUTH[name].get("metrics_only") or {**TRUTH[name], "verdict": [TRUTH[name]["verdict"]]}
    assert right(answer, truth), (answer["verdict"], answer["causes"])


@contextmanager
def replayed(folder: Path, speed: float) -> Iterator[str]:
    """A recording as a live server, in a loop of its own as another program would be."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = serve_replay(folder, speed=speed)
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_live_server_gets_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with replayed(DATA / "seq_cap", speed=10) as url:
        code, answer = diagnosis(capsys, url, "--for", "38s")
    assert (code, answer["verdict"], answer["causes"][0]["id"]) == (1, "bottleneck", "seat_cap")
    assert answer["target"] == url


def test_a_target_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "whystall.toml"
    config.write_text(f'[targets.prod]\nurl = "{DATA / "healthy"}"\n')
    code, answer = diagnosis(capsys, "prod", "--config", str(config))
    assert (code, answer["verdict"]) == (0, "healthy")


def test_a_server_inside_its_promise_is_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = diagnosis(capsys, str(DATA / "healthy"), "--slo", "ttft_p95=5s,e2e_p95=60s")
    assert (code, answer["verdict"]) == (0, "healthy")


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("./no/such/folder", 2, "there is no ./no/such/folder"),
        ("recordings/none", 2, "there is no recordings/none"),
        ("ftp://a:1", 2, "ftp"),
        ("http://127.0.0.1:9", 3, "127.0.0.1:9"),
    ],
)
def test_a_target_that_cannot_be_read(target: str, code: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, answer = diagnosis(capsys, target)
    assert (found, answer["schema"], answer["exit_code"]) == (code, "whystall.error/1", code)
    assert told in answer["error"]
    assert answer["hint"]


@pytest.mark.parametrize(
    ("suffix", "start"), [("html", "<!doctype html>"), ("md", "#"), ("json", "{"), ("txt", "✘ BOTTLENECK")]
)
def test_the_files_name_chooses_the_format(suffix: str, start: str, tmp_path: Path) -> None:
    file = tmp_path / f"answer.{suffix}"
    assert run(["diagnose", str(DATA / "seq_cap"), "-o", str(file)]) == 1
    assert file.read_text(encoding="utf-8").lower().startswith(start.lower())


def test_a_log_and_arguments_may_be_named_beside_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(DATA / "seq_cap" / "metrics.prom.gz", tmp_path)
    limits = {}
    for option, value in (
        ("--server-args", "vllm serve m --max-num-seqs 16"),
        ("--log", str(DATA / "seq_cap" / "server.log.gz")),
    ):
        _, answer = diagnosis(capsys, str(tmp_path), option, value)
        limits[option] = {limit["name"]: limit["value"] for limit in answer["limits"] if limit["known"] != "inferred"}
    assert limits["--server-args"]["max_num_seqs"] == 16
    assert limits["--log"]["max_num_seqs"] == 16
