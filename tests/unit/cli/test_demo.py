"""``whystall demo`` ends when it is told to, though its emulated time never pauses."""

import asyncio
import os
import signal

import pytest

from whystall.cli.demo import _ended_by_ctrl_c


def test_ctrl_c_does_not_wait_for_a_pause() -> None:
    after: list[int] = []

    async def busy() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for number in range(1000):  # nothing here hands over to the event loop
            after.append(number)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), _ended_by_ctrl_c():
        asyncio.run(busy())
    assert len(after) < 1000
    assert signal.getsignal(signal.SIGINT) is before
