import asyncio
import os
import signal
import time

import pytest

from whystall.errors import NotATrace, TimedOut, TooLarge, Unavailable
from whystall.service.side_process import MEMORY_BYTES, MOST_WAITING, SideProcess


def double(value: int) -> int:
    return 2 * value


def refuse() -> None:
    raise NotATrace("this is none", "take another")


def pid() -> int:
    return os.getpid()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep() -> None:
    time.sleep(600)


def swallow() -> int:
    return len(bytearray(MEMORY_BYTES + (1 << 30)))


@pytest.fixture
def side():
    one = SideProcess()
    yield one
    one.close()


async def test_it_works_in_one_other_process_that_stays(side):
    first, second = await side.run(pid, timeout_s=60), await side.run(pid, timeout_s=60)
    assert first == second != os.getpid()
    assert await side.run(double, 21, timeout_s=60) == 42


async def test_an_error_of_ours_comes_back_with_its_hint(side):
    with pytest.raises(NotATrace, match="this is none") as caught:
        await side.run(refuse, timeout_s=60)
    assert caught.value.hint == "take another"


async def test_what_overruns_its_time_or_dies_is_named_and_the_next_is_served(side):
    await side.run(double, 1, timeout_s=60)
    with pytest.raises(TimedOut):
        await side.run(sleep, timeout_s=0.05)
    with pytest.raises(Unavailable, match="killed"):
        await side.run(die, timeout_s=60)
    assert await side.run(double, 2, timeout_s=60) == 4


async def test_too_much_memory_is_refused(side):
    with pytest.raises(TooLarge, match="memory"):
        await side.run(swallow, timeout_s=60)
    assert await side.run(double, 2, timeout_s=60) == 4


async def test_who_goes_away_does_not_leave_an_answer_for_the_next(side):
    task = asyncio.ensure_future(side.run(double, 1, timeout_s=60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await side.run(double, 50, timeout_s=60) == 100


async def test_too_many_at_once_are_refused(side):
    tasks = [asyncio.ensure_future(side.run(double, n, timeout_s=60)) for n in range(MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many"):
        await side.run(double, 9, timeout_s=60)
    assert await asyncio.gather(*tasks) == [0, 2, 4, 6]
