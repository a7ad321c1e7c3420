"""Warm is what no longer changes."""

from itertools import count

import msgspec
import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.profiles import load_profile
from whystall.errors import Unavailable
from whystall.trials.blocks import BlockResult
from whystall.trials.emulated_arm import EmulatedArm, VirtualTime
from whystall.trials.load.plan import LoadPlan
from whystall.trials.load.trace import Trace
from whystall.trials.warmup import slowest_e2e_s, warm_up

OPTIONS = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, async_scheduling=True)
PROFILE = load_profile("h200-8b")


class Filling(EmulatedArm):
    """A cache that fills over five windows."""

    windows = 0

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        self.windows += 1
        return msgspec.structs.replace(await super().block(trace, drain_s), hit_ratio=min(self.windows, 5) / 10)


async def test_a_warm_server_needs_two_windows() -> None:
    done, windows = await warm_up(
        "a", EmulatedArm(OPTIONS, PROFILE, VirtualTime()), LoadPlan(rate=20), seed=1, salts=count(), most_s=120
    )
    assert (done.settled, len(windows)) == (True, 2)
    assert done.requests >= 50
    assert 0.5 < slowest_e2e_s(windows) < 10


async def test_a_cache_that_fills_is_waited_for() -> None:
    done, windows = await warm_up(
        "b", Filling(OPTIONS, PROFILE, VirtualTime()), LoadPlan(rate=20), seed=1, salts=count(), most_s=200
    )
    assert done.settled
    assert len(windows) == 6


async def test_few_requests_take_longer_and_the_time_ends_it() -> None:
    arm = EmulatedArm(OPTIONS, PROFILE, VirtualTime())
    done, windows = await warm_up("b", arm, LoadPlan(rate=1.0), seed=1, salts=count(), most_s=300)
    assert done.settled
    assert len(windows) >= 4
    done, _ = await warm_up("b", arm, LoadPlan(rate=0.3), seed=1, salts=count(), most_s=30)
    assert not done.settled
    assert done.seconds >= 30


def test_no_window_has_no_e2e() -> None:
    assert slowest_e2e_s([]) == 0.0


async def test_a_server_that_fails_everything_is_named_with_what_it_answers() -> None:
    options = EngineOptions(num_gpu_blocks=20000, max_model_len=64)
    with pytest.raises(Unavailable, match=r"failed all \d+ requests of the warm-up \(too long\)"):
        await warm_up(
            "a", EmulatedArm(options, PROFILE, VirtualTime()), LoadPlan(rate=5), seed=1, salts=count(), most_s=60
        )
