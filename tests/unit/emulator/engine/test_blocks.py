"""The pool against a queue that is spelled out: hits leave it, plain blocks go to its head, cached ones to its tail."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine import blocks as pool_module
from whystall.emulator.engine.blocks import BlockPool
from whystall.emulator.engine.content import OwnContent
from whystall.emulator.engine.request import Request


class Spelled:
    """The free queue as a list, head first, and who holds what; every operation is the plainest one."""

    def __init__(self, blocks: int) -> None:
        self.free = list(range(1, blocks))
        self.held: dict[int, list[int]] = {}
        self.cached: dict[int, list[int]] = {}  # of owners without blocks: those that only they can hit

    def take(self, count: int) -> list[int]:
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def release(self, owner: int, cached: int) -> None:
        blocks = self.held.pop(owner)
        self.free = [*reversed(blocks[cached:]), *self.free, *reversed(blocks[:cached])]
        self.cached[owner] = blocks[:cached]

    def hit(self, owner: int) -> list[int]:
        """The owner's cached blocks up to the first that somebody else took since; they leave the queue."""
        found = self.cached.pop(owner)
        self.free = [block for block in self.free if block not in found]
        return found

    def forget(self, taken: list[int]) -> None:
        for owner, blocks in self.cached.items():
            lost = [place for place, block in enumerate(blocks) if block in taken]
            self.cached[owner] = blocks[: min(lost, default=len(blocks))]


@given(seed=st.integers(0, 100_000), blocks=st.integers(3, 60), used_up=st.integers(1, 20))
def test_the_pool_gives_what_a_spelled_out_queue_gives(seed: int, blocks: int, used_up: int) -> None:
    dice = random.Random(seed)
    pool, model = BlockPool(blocks, caching=True), Spelled(blocks)
    before: dict[int, list[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "_USED_UP", used_up)
        for owner in [dice.randrange(6) for _ in range(80)]:
            if owner in model.held:
                held = model.held[owner]
                cached = dice.randrange(len(held) + 1)
                pool.mark(held[:cached], owner)
                pool.release(list(held), 0, cached)
                before[owner] = held[:cached]
                model.release(owner, cached)
            else:
                _enter(pool, model, owner, before, dice)
            assert pool.free_count == len(model.free)
        assert pool.take(pool.free_count) == model.free


def _enter(pool: BlockPool, model: Spelled, owner: int, before: dict[int, list[int]], dice: random.Random) -> None:
    """``owner`` hits what it still has and takes some more: one by one as it grows, or at once."""
    found = pool.still_marked(before.pop(owner, []), owner)
    assert pool.count_free(found) == len(found)
    assert found == (model.hit(owner) if owner in model.cached else [])
    pool.touch(found)
    count = dice.randrange(len(model.free) + 1)
    expected = model.take(count)
    model.forget(expected)
    request = Request(owner, 1, 1, OwnContent())
    if dice.random() < 0.5:
        request.blocks = pool.take(count)
    else:
        pool.grow([request] * count)
    assert request.blocks == expected
    model.held[owner] = found + expected


@pytest.mark.parametrize("others", [1, 3])
def test_a_block_with_a_key_is_free_when_its_last_holder_goes(others: int) -> None:
    pool = BlockPool(10, caching=True)
    mine = pool.take(4)
    pool.cache(mine[:2], ["a", "b"])
    found = pool.find(["a", "b", "c"])
    assert found == mine[:2]
    for _ in range(others):
        pool.touch(found)
    pool.release(list(mine), 2, 2)
    assert pool.free_count == 9 - 2
    for _ in range(others):
        assert pool.count_free(found) == 0
        pool.release(list(found), 2, 2)
    assert (pool.free_count, pool.count_free(found)) == (9, 2)
    assert pool.take(9) == [mine[3], mine[2], 5, 6, 7, 8, 9, mine[1], mine[0]]
    assert pool.find(["a"]) == []


def test_withholding_none_takes_none() -> None:
    pool = BlockPool(10, caching=True)
    pool.release(pool.take(3), 0, 0)
    assert pool.withhold(0) == 0
    assert pool.take(9) == [3, 2, 1, 4, 5, 6, 7, 8, 9]
