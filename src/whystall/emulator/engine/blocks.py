"""The pool of KV blocks: who holds which, the order in which free ones are reused, and the prefix cache over them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .request import Request

_USED_UP = 4096  # places at the start of the queue that are kept until it is worth while to cut them off


class BlockPool:
    """Blocks 1 to ``num_blocks - 1``; block 0 is the null block that nobody gets.

    Free blocks form a queue whose head is reused first. A freed block that no key points to goes to the head, a
    cached one to the tail, so the tail end of the queue is the cache in least-recently-used order. The queue is kept
    in two: ``_plain`` is a stack of those that came to the head, ``_queue`` from place ``_first`` on is the rest.
    A free block that is hit leaves the queue; its old place stays as a ghost, counted in ``_ghosts``, and is skipped
    when it comes up. Only cached blocks can be hit, so there are none in ``_plain``.

    A cached block has either a key that others may have too, then its holders are counted, or the number of the only
    request that can hit it again: such marks are plain ints, which keys never are.
    """

    __slots__ = (
        "_cached",
        "_first",
        "_ghosts",
        "_holders",
        "_keys",
        "_plain",
        "_queue",
        "caching",
        "free_count",
        "num_blocks",
    )

    def __init__(self, num_blocks: int, caching: bool) -> None:
        self.num_blocks = num_blocks
        self.caching = caching
        self.free_count = num_blocks - 1
        self._plain: list[int] = []  # the head of the free blocks is its end
        self._queue: list[int] = list(range(1, num_blocks))
        self._first = 0
        self._ghosts: dict[int, int] = {}
        self._holders: dict[int, int] = {}  # of blocks with a key
        self._keys: list[Hashable | None] = [None] * num_blocks
        self._cached: dict[Hashable, int | dict[int, None]] = {}

    @property
    def usage_ratio(self) -> float:
        """Share of the blocks in use, 0 to 1; cached blocks that nobody holds count as free."""
        usable = self.num_blocks - 1
        return 1.0 - self.free_count / usable if usable else 0.0

    def find(self, keys: Iterable[Hashable]) -> list[int]:
        """The cached blocks of the longest known prefix of ``keys``."""
        found: list[int] = []
        cached = self._cached
        for key in keys:
            block = cached.get(key)
            if block is None:
                break
            found.append(block if isinstance(block, int) else next(iter(block)))
        return found

    def count_free(self, blocks: Sequence[int]) -> int:
        """How many of these cached ``blocks`` nobody holds: taking them uses up free capacity."""
        holders = self._holders
        return sum([not holders.get(block) for block in blocks]) if holders else len(blocks)

    def touch(self, blocks: Iterable[int]) -> None:
        """Hold these cached ``blocks`` once more; free ones leave the queue."""
        holders = self._holders
        for block in blocks:
            held = holders.get(block)
            if not held:
                self._ghosts[block] = self._ghosts.get(block, 0) + 1
                self.free_count -= 1
            if held is not None:
                holders[block] = held + 1

    def take(self, count: int) -> list[int]:
        """``count`` blocks from the head of the queue; those that were cached lose their key."""
        taken = self._cut(count) if not self._ghosts else self._cut_real(count)
        self.free_count -= count
        if self.caching:
            if self._cached:
                self._forget(taken)
            keys = self._keys
            for block in taken:
                keys[block] = None
        return taken

    def grow(self, requests: Sequence[Request]) -> None:
        """One block more for each of ``requests``, in their order: what :meth:`take` gives, without a list of it."""
        if self._ghosts or self._cached:
            for request, block in zip(requests, self.take(len(requests)), strict=True):
                request.blocks.append(block)
            return
        plain, queue, first, keys = self._plain, self._queue, self._first, self._keys
        for request in requests:
            if plain:
                block = plain.pop()
            else:
                block = queue[first]
                first += 1
            keys[block] = None
            request.blocks.append(block)
        self._first = first
        self.free_count -= len(requests)

    def _cut(self, count: int) -> list[int]:
        """The first ``count`` of the free blocks, where none of them is a ghost."""
        plain = self._plain
        taken: list[int] = []
        if plain and count:
            taken = plain[: -count - 1 : -1]
            del plain[-count:]
            count -= len(taken)
        first = self._first
        stop = first + count
        taken += self._queue[first:stop]
        self._pass(stop)
        return taken

    def _pass(self, first: int) -> None:
        """The queue begins at place ``first`` from now on."""
        if first > _USED_UP and 2 * first > len(self._queue):
            del self._queue[:first]
            first = 0
        self._first = first

    def _cut_real(self, count: int) -> list[int]:
        plain, queue, first, ghosts = self._plain, self._queue, self._first, self._ghosts
        taken: list[int] = []
        while len(taken) < count:
            if plain:
                taken.append(plain.pop())
                continue
            block = queue[first]
            first += 1
            left = ghosts.get(block, 0)
            if not left:
                taken.append(block)
            elif left == 1:
                del ghosts[block]
            else:
                ghosts[block] = left - 1
        self._pass(first)
        return taken

    def _forget(self, blocks: Iterable[int]) -> None:
        """Let no key point to ``blocks`` any more."""
        keys, cached = self._keys, self._cached
        for block in blocks:
            key = keys[block]
            if key is None or key.__class__ is int:
                continue
            del self._holders[block]
            held = cached[key]
            if isinstance(held, int):
                del cached[key]
                continue
            del held[block]
            if not held:
                del cached[key]

    def cache(self, blocks: Sequence[int], keys: Sequence[Hashable]) -> None:
        """Let ``keys`` point to full ``blocks`` of one holder. The first of several blocks with one content is found."""
        cached = self._cached
        known = self._keys
        for block, key in zip(blocks, keys, strict=True):
            known[block] = key
            self._holders[block] = 1
            other = cached.setdefault(key, block)
            if other is not block and other != block:
                if isinstance(other, int):
                    cached[key] = {other: None, block: None}
                else:
                    other[block] = None

    def mark(self, blocks: Iterable[int], owner: int) -> None:
        """Note that ``blocks`` hold full blocks of a content that nobody but ``owner`` has."""
        known = self._keys
        for block in blocks:
            known[block] = owner

    def still_marked(self, blocks: Sequence[int], owner: int) -> list[int]:
        """The first of ``blocks``, as long as they still hold what ``owner`` put there."""
        known = self._keys
        for place, block in enumerate(blocks):
            if known[block] != owner:
                return list(blocks[:place])
        return list(blocks)

    def release(self, blocks: list[int], shared: int, cached: int) -> None:
        """Let go of a request's ``blocks``, in the order in which it got them: its last are reused first.

        The first ``cached`` of them are cached, of which the first ``shared`` have keys that others may have too.
        """
        queue = self._queue
        self._plain += blocks[cached:]
        own = blocks[shared:cached]
        own.reverse()
        queue += own
        self.free_count += len(blocks) - shared
        if shared:
            self._let_go(blocks[:shared])

    def _let_go(self, blocks: list[int]) -> None:
        """One holder fewer of ``blocks``, which have keys; those that nobody holds any more are free."""
        holders, queue = self._holders, self._queue
        for block in reversed(blocks):
            left = holders[block] - 1
            holders[block] = left
            if not left:
                queue.append(block)
                self.free_count += 1

    def withhold(self, count: int) -> int:
        """Take up to ``count`` free blocks out of the pool for good, so that it is smaller; returns how many."""
        count = min(count, self.free_count)
        self.take(count)
        self.num_blocks -= count
        return count
