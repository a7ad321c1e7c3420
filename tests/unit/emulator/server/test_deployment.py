"""What an emulated server says of its own start, and when."""

import io
import re

import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving

START = 1_790_000_000.0
STAMP = re.compile(r" (\d\d):(\d\d):(\d\d) ")


@pytest.fixture(scope="module")
def lines() -> list[tuple[float, str]]:
    """Seconds after the start, and the line; those without a time of their own are left out. Away from 31 to 71 s."""
    profile = load_profile("h200-8b")
    log = io.StringIO()
    serving = Serving(options=EngineOptions(num_gpu_blocks=profile.kv_blocks), profile=profile)
    deployment = Deployment(serving, start=START, log=log)
    deployment.at(START + 31, lambda d, now: d.restart(d.serving, now, down_s=40.0, loading_s=20.0))
    deployment.advance(START + 100)
    dated = [(STAMP.search(line), line) for line in log.getvalue().splitlines()]
    seconds = [(3600 * int(m[1]) + 60 * int(m[2]) + int(m[3]), line) for m, line in dated if m]
    return [(t - seconds[0][0], line) for t, line in seconds]


def when(lines: list[tuple[float, str]], text: str) -> list[float]:
    return [t for t, line in lines if text in line]


def test_a_start_writes_its_lines_as_it_goes_on(lines: list[tuple[float, str]]) -> None:
    assert when(lines, "non-default args") == [0, 33]
    assert when(lines, "Model loading took") == [0, 53]
    assert when(lines, "init engine") == [0, 71]


def test_a_process_that_starts_writes_no_statistics(lines: list[tuple[float, str]]) -> None:
    spoken = when(lines, "Avg generation throughput")
    assert [t for t in spoken if t < 31] == [10, 20, 30]
    assert [t for t in spoken if 31 <= t < 71] == []
    assert [t for t in spoken if t > 71] == [80, 90, 100]


def test_an_engine_that_died_writes_no_statistics() -> None:
    profile = load_profile("h200-8b")
    log = io.StringIO()
    serving = Serving(options=EngineOptions(num_gpu_blocks=profile.kv_blocks), profile=profile)
    deployment = Deployment(serving, start=START, log=log)
    deployment.at(START + 15, lambda d, now: d.die(now))
    deployment.advance(START + 60)
    assert log.getvalue().count("Avg generation throughput") == 1
