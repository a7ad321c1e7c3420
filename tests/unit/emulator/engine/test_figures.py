"""The figures of a run agree with its journal, and a window with its parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.figures import figures_of, weighted_quantile
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass, Load, Phase
from whystall.emulator.profiles import load_profile


def played(**options: object) -> Engine:
    engine = Engine(
        EngineOptions(**{"num_gpu_blocks": 3000, "async_scheduling": True, **options}), load_profile("h200-8b")
    )
    Load(3).play(engine, [Phase(seconds=30, mix=(LengthClass(1, (200, 600), (50, 150)),), rate=10)])
    return engine


def test_the_figures_are_those_of_the_journal() -> None:
    engine = played()
    found = figures_of(engine, 0.0, 30.0)
    journal = engine.journal
    assert found.tokens_per_s == pytest.approx(sum(journal.generated) / 30)
    assert found.ttft_p50_s <= found.ttft_p95_s <= found.ttft_p99_s
    assert found.itl_mean_s == pytest.approx(np.average(*journal.gaps()[:1], weights=journal.gaps()[1]))
    assert found.kv_usage_mean <= found.kv_usage_max <= 1
    assert found.queue_mean_s == pytest.approx(0.0, abs=1e-3)


def test_fewer_seats_make_a_longer_queue_and_shorter_steps() -> None:
    many, few = (figures_of(played(max_num_seqs=n), 5.0, 30.0) for n in (64, 3))
    assert few.queue_mean_s > 0.5 > many.queue_mean_s
    assert few.running_mean <= 3
    assert few.itl_mean_s <= many.itl_mean_s * 1.02


def test_an_empty_window_has_no_latencies() -> None:
    found = figures_of(played(), 1000.0, 1001.0)
    assert np.isnan(found.ttft_mean_s)
    assert np.isnan(found.itl_p99_s)
    assert found.tokens_per_s == 0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_quantile_is_one_of_the_values(values: list[float], q: float) -> None:
    array = np.asarray(values)
    found = weighted_quantile(array, np.ones(len(array)), q)
    assert found in values
    assert (array <= found).mean() >= q - 1e-9
