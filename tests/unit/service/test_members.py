"""Loops that are begun, left alone, begun again and ended."""

import asyncio
from functools import partial

from whystall.service.members import Members


async def test_loops_follow_who_is_there():
    begun: asyncio.Queue[str] = asyncio.Queue()
    ended: list[str] = []

    async def loop(name: str, lasts: bool = True) -> None:
        begun.put_nowait(name)
        try:
            if lasts:
                await asyncio.Event().wait()
        finally:
            ended.append(name)

    members = Members()
    members.aim({name: partial(loop, name) for name in ("a", "b")})
    assert [await begun.get(), await begun.get()] == ["a", "b"]
    members.aim({"b": partial(loop, "b"), "c": partial(loop, "c", False)})
    assert await begun.get() == "c"
    assert ("a" in members, "b" in members) == (False, True)
    members.aim({"b": partial(loop, "b"), "c": partial(loop, "c")})  # c broke off
    assert await begun.get() == "c"
    await members.end()
    assert sorted(ended) == ["a", "b", "c", "c"]
    assert begun.empty()


async def test_who_was_left_before_is_over_too_when_all_end():
    """One that is cancelled may take a while to put right what it has begun: nobody closes the store under it."""
    begun, ended = asyncio.Event(), []

    async def slow() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            ended.append("slow")

    members = Members()
    members.aim({"slow": slow})
    await begun.wait()
    members.aim({})
    await members.end()
    assert ended == ["slow"]
