"""The pool of KV blocks: who holds which, the order in which free ones are reused, and the prefix cache over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile


class BlockPool:
    """Blocks 1 to ``num_blocks - 1``; block 0 is the null block that nobody gets.

    Free blocks form a queue whose head is reused first. A freed block that no key points to goes to the head, a
    cached one to the tail, so the tail end of the queue is the cache in least-recently-used order. A free block that
    is hit leaves the queue; its old place stays as a ghost, counted in ``_ghosts``, and is skipped when it comes up.

    A cached block has either a key that others may have too, then its holders are counted, or the number of the only
    request that can hit it again: such marks are plain ints, which keys never are.
    """

    __slots__ = ("_cached", "_free", "_ghosts", "_holders", "_keys", "caching", "free_count", "num_blocks")

    def __init__(self, num_blocks: int, caching: bool) -> None:
        self.num_blocks = num_blocks
        self.caching = caching
        self.free_count = num_blocks - 1
        self._free: deque[int] = deque(range(1, num_blocks))
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

    def count_free(self, blocks: Iterable[int]) -> int:
        """How many of these cached ``blocks`` nobody holds: taking them uses up free capacity."""
        holders = self._holders
        return sum(1 for block in blocks if not holders.get(block))

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
        pop = self._free.popleft
        taken = [pop() for _ in range(count)] if not self._ghosts else self._take_real(count)
        self.free_count -= count
        if self.caching:
            keys = self._keys
            if self._cached:
                self._forget(taken)
            for block in taken:
                keys[block] = None
        return taken

    def _take_real(self, count: int) -> list[int]:
        taken: list[int] = []
        ghosts = self._ghosts
        while len(taken) < count:
            block = self._free.popleft()
            left = ghosts.get(block, 0)
            if not left:
                taken.append(block)
            elif left == 1:
                del ghosts[block]
            else:
                ghosts[block] = left - 1
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

    def still_marked(self, blocks: Iterable[int], owner: int) -> list[int]:
        """The first of ``blocks``, as long as they still hold what ``owner`` put there."""
        known = self._keys
        return list(takewhile(lambda block: known[block] == owner, blocks))

    def release(self, blocks: Sequence[int], shared: int, cached: int) -> None:
        """Let go of a request's ``blocks``, in the order in which it got them: its last are reused first.

        The first ``cached`` of them are cached, of which the first ``shared`` have keys that others may have too.
        """
        plain = blocks[cached:]
        self._free.extendleft(plain)
        own = blocks[shared:cached]
        self._free.extend(reversed(own))
        self.free_count += len(plain) + len(own)
        holders = self._holders
        for block in reversed(blocks[:shared]):
            left = holders[block] - 1
            holders[block] = left
            if not left:
                self._free.append(block)
                self.free_count += 1

    def withhold(self, count: int) -> int:
        """Take up to ``count`` free blocks out of the pool for good, so that it is smaller; returns how many."""
        count = min(count, self.free_count)
        self.take(count)
        self.num_blocks -= count
        return count
