"""Ranks that wait for each other, and for one: by their boards' power where no trace is there."""

import msgspec
import numpy as np

from scenes import CALM
from states import state_of
from whystall.evidence.ranks import ranks
from whystall.evidence.scene import Scene
from whystall.profiles.figures import TraceFigures

ARGV = ("vllm", "serve", "m", "--tensor-parallel-size", "4", "--max-num-batched-tokens", "8192")
SLOW = {"itl_ms": 60, "gpu": {"power": 400, "util": 1.0}}


def scene(power: list[float], **trace: float) -> Scene:
    """Calm, then slow, with the ranks' power in the incident; 500 W each before."""
    calm = {**CALM, "gpu": {"power": 500, "util": 1.0}}
    state = state_of(calm, {**CALM, **SLOW}, argv=ARGV)
    assert state.gpu is not None
    watts = np.where(np.arange(len(state.dt))[:, None] < 20, 500.0, np.array(power)[None, :])
    gpu = msgspec.structs.replace(state.gpu, device_power_w=watts, power_w=watts.mean(axis=1), devices=4)
    figures = TraceFigures(**trace) if trace else None
    return Scene(msgspec.structs.replace(state, gpu=gpu), trace=figures)


def found(power: list[float], **trace: float):
    return {e.id: e for e in ranks(scene(power, **trace))}


def test_all_ranks_drawing_less_at_full_use_wait() -> None:
    seen = found([400, 400, 400, 400])
    assert seen["ranks.wait"].strength >= 1.0
    assert seen["ranks.apart"].strength < 0


def test_one_rank_apart_is_named() -> None:
    seen = found([400, 400, 400, 500])
    assert seen["ranks.apart"].strength >= 1.0
    assert "GPU 3's power" in seen["ranks.apart"].text.en


def test_equal_power_is_no_wait() -> None:
    assert found([500, 500, 500, 500])["ranks.wait"].strength < 0


def test_a_trace_says_more_than_power() -> None:
    seen = found([500, 500, 500, 500], exposed_collective_ratio=0.4, skew_ratio=0.1)
    assert seen["ranks.wait"].source == "trace"
    assert seen["ranks.wait"].strength >= 1.0
    assert seen["ranks.apart"].source == "trace"


def test_one_gpu_waits_for_nobody() -> None:
    state = state_of({**CALM}, {**CALM, "itl_ms": 60}, argv=(*ARGV[:3], "--tensor-parallel-size", "1"))
    seen = {e.id: e for e in ranks(Scene(state))}
    assert set(seen) == {"config.ranks"}
    assert seen["config.ranks"].strength < 0


def at_work(watts_now: float, *, tokens: float = 3.0, util: float = 1.0) -> float | None:
    """``ranks.wait`` where the past drew 300 W and 0.02 W for each prompt token a second, and computes more now."""
    found = scene([500, 500, 500, 500])
    state = found.state
    assert state.gpu is not None
    past = np.arange(len(state.dt)) < 20
    computed = np.where(past, 4000.0 + 3000.0 * (np.arange(len(state.dt)) % 3), 7000.0 * tokens) * state.dt
    watts = np.where(past, 300.0 + 0.02 * computed / state.dt, watts_now)
    use = np.where(past | (np.arange(len(state.dt)) % 2 == 0), 1.0, util)
    gpu = msgspec.structs.replace(state.gpu, power_w=np.where(use < 1, 100.0, watts), util_ratio=use)
    made = 800.0 * state.dt
    found.state = msgspec.structs.replace(state, gpu=gpu, computed_tokens=computed, generation_tokens=made)
    return {e.id: e.strength for e in ranks(found)}.get("ranks.wait")


def test_more_prompts_let_expect_more_power() -> None:
    """Three times the prompts would draw 720 W: 450 W are more than before, and far too little."""
    expected = 300.0 + 0.02 * 7000.0 * 3
    assert at_work(450.0) >= 1.0
    assert at_work(expected) < 0
    assert at_work(300.0 + 0.02 * 7000.0 * 0.3, tokens=0.3) < 0  # less work draws less, and nobody waits


def test_gpus_that_idle_between_are_judged_while_they_are_in_use() -> None:
    expected = 300.0 + 0.02 * 7000.0 * 3
    assert at_work(expected, util=0.2) < 0
    assert at_work(450.0, util=0.2) >= 1.0
