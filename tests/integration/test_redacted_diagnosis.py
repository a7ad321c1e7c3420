"""A redacted recording has the same diagnosis, to the last figure."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from conftest import recording_names
from whystall.model.diagnosis import Diagnosis
from whystall.pipeline import diagnose
from whystall.reports.json import to_json
from whystall.sources.files.recording import read_recording
from whystall.sources.files.scrapes import scrapes
from whystall.sources.files.stream import Stream
from whystall.sources.live.facts import ServerFacts
from whystall.sources.live.recorder import Recorder
from whystall.sources.live.redaction import Redactor

NAMELESS = ("spans.jsonl.gz", "gpu.jsonl", "gpu.jsonl.gz", "host.jsonl.gz", "requests.jsonl", "requests.jsonl.gz")


def redacted(source: Path, folder: Path) -> Path:
    """``source`` as it would have been recorded with --redact."""

    def text(name: str) -> str:
        return (source / name).read_text() if (source / name).exists() else ""

    with Recorder(folder, Redactor()) as recorder:
        recorder.facts(ServerFacts(text("version.json"), text("models.json"), text("server_info.json")))
        for scrape in scrapes(Stream(source / "metrics.prom.gz", 2**32)):
            assert scrape.t is not None
            recorder.page(scrape.t, scrape.page)
        recorder.log(gzip.decompress((source / "server.log.gz").read_bytes()))
    for name in NAMELESS:
        if (source / name).exists():
            shutil.copy(source / name, folder)
    return folder


def as_json(diagnosis: Diagnosis) -> dict[str, object]:
    found = json.loads(to_json(diagnosis, "en"))
    return {key: value for key, value in found.items() if key not in ("target", "engine")}


@pytest.mark.parametrize("name", recording_names())
def test_the_diagnosis_is_the_same(shared: Path, tmp_path: Path, name: str) -> None:
    source = shared / "recordings" / name
    before = diagnose(read_recording(source)).diagnosis
    after = diagnose(read_recording(redacted(source, tmp_path / "r"))).diagnosis
    assert as_json(after) == as_json(before)
    assert after.engine.version == before.engine.version
    assert after.engine.model.startswith("model-")
