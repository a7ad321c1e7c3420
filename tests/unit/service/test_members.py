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
