"""``whystall emulate``: what it takes, what it refuses, and that it comes up and goes down."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from whystall.cli import run
from whystall.cli.emulate import _batch, _options, _with_load, emulate
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.faults import FAULTS
from whystall.errors import UsageError

NAMES = [
    "num_gpu_blocks",
    "block_size",
    "max_model_len",
    "max_num_seqs",
    "max_num_active_seqs",
    "max_num_batched_tokens",
    "max_num_queued_reqs",
    "max_num_queued_tokens",
    "long_prefill_token_threshold",
    "watermark",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "scheduler_reserve_full_isl",
    "async_scheduling",
    "scheduling_policy",
]


def test_the_faults_are_listed() -> None:
    done = CliRunner().invoke(emulate, ["--list-faults"], standalone_mode=False)
    assert [line.split()[0] for line in done.output.splitlines()] == list(FAULTS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fault", "nothing"],
        ["--profile", "x-8b"],
        ["--prompt", "0"],
        ["--prompt", "9-3"],
        ["--output", "many"],
        ["--served-model-name", 'a"b'],
        ["--num-gpu-blocks-override", "4"],
        ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "100"],
        ["--rate", "1", "--fault", "replica_imbalance"],
        ["--log-file", "/dev/null/server.log"],
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments: list[str]) -> None:
    done = CliRunner().invoke(emulate, ["--port", "0", *arguments], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert done.exception.hint


def test_defaults_are_those_of_the_device() -> None:
    nothing = dict.fromkeys(NAMES)
    large, _ = _options(nothing, load_profile("h200-8b"))
    small, _ = _options(nothing, load_profile("a100-80gb-8b"))
    assert (large.max_num_seqs, large.max_num_batched_tokens) == (1024, 8192)
    assert (small.max_num_seqs, small.max_num_batched_tokens) == (256, 2048)
    chosen, flags = _options({**nothing, "max_num_seqs": 7, "num_gpu_blocks": 3000}, load_profile("h200-8b"))
    assert (chosen.max_num_seqs, chosen.num_gpu_blocks) == (7, 3000)
    assert (flags["max_num_seqs"], flags["num_gpu_blocks_override"]) == (7, 3000)


def test_without_a_load_a_fault_brings_the_one_on_which_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {**dict.fromkeys(NAMES), "rate": 0.0, "clients": 0, "prompt": (200, 800), "replicas": 1}
    made = _with_load(nothing, "replica_imbalance", {"port", "prompt"})
    assert (made["rate"], made["replicas"], made["prompt"]) == (24.0, 2, (200, 800))
    assert "replica_imbalance shows" in capsys.readouterr().err
    for own in ("rate", "clients"):
        assert _with_load(nothing, "replica_imbalance", {own}) is nothing
    assert capsys.readouterr().err == ""


def test_it_comes_up_serves_and_goes_down_when_told(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    command = [sys.executable, "-m", "whystall", "emulate", "--port", "0", "--rate", "5", "--log-file", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = re.match(r"http://127\.0\.0\.1:\d+/metrics", process.stdout.readline())
        assert url is not None
        with urllib.request.urlopen(url[0], timeout=10) as answer:
            assert b"vllm:num_requests_running" in answer.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
    assert "Chunked prefill is enabled with max_num_batched_tokens=8192." in log.read_text()


@pytest.mark.parametrize(
    ("known", "seats", "budget"),
    [
        ({}, 1024, 8192),
        ({"max_num_batched_tokens": 64}, 64, 8192),  # seats that nobody set shrink to the budget
        ({"enable_chunked_prefill": False}, 1024, 16384),
        ({"max_num_seqs": 1, "max_model_len": 100}, 100, 100),
        ({"max_num_batched_tokens": 0}, 1, 8192),  # refused afterwards, by its own name
    ],
)
def test_defaults_give_way_to_what_was_set(known: dict[str, object], seats: int, budget: int) -> None:
    found = _batch({"max_model_len": 16384, **known}, 1024, 8192)
    assert (found["max_num_seqs"], found["max_num_batched_tokens"]) == (seats, budget)


def test_a_budget_below_the_seats_is_refused_as_vllm_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emulate", "--port", "0", "--max-num-batched-tokens", "64", "--max-num-seqs", "128"]) == 2
    assert "max_num_batched_tokens (64) must be at least max_num_seqs (128)" in capsys.readouterr().err


def test_a_fault_that_is_misspelt_is_answered_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["emulate", "--port", "0", "--fault", "kv-capacity@3"]) == 2
    assert "Did you mean kv_capacity? whystall emulate --list-faults shows them." in capsys.readouterr().err
    assert run(["lab", "run", "kv_overflow"]) == 2
    assert "Did you mean kv-overflow? whystall lab list shows them." in capsys.readouterr().err
