"""What a prompt is made of, as far as the prefix cache cares: one key a full block, equal for equal prefixes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol


class Content(Protocol):
    """Gives the keys of full blocks: prompt first, then what the request generates.

    ``sees_outputs``: its prompt may hold what another request generated.
    """

    sees_outputs: bool

    def shared_blocks(self, stop: int, block_size: int) -> int:
        """How many of the first ``stop`` blocks another request may have too; no key is asked for after those."""

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        """Keys of blocks ``start`` to ``stop`` (exclusive)."""


class OwnContent:
    """A prompt that starts with ``prefix_tokens`` shared by all of the same ``prefix``, and is its own after that."""

    __slots__ = ("prefix", "prefix_tokens")
    sees_outputs = False

    def __init__(self, prefix: Hashable = None, prefix_tokens: int = 0) -> None:
        self.prefix = prefix
        self.prefix_tokens = prefix_tokens if prefix is not None else 0

    def shared_blocks(self, stop: int, block_size: int) -> int:
        return min(self.prefix_tokens // block_size, stop) if self.prefix_tokens else 0

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        return [(self.prefix, index) for index in range(start, stop)]


class HashedContent:
    """A prompt given as ids of longer blocks whose ids already stand for the whole prefix (Mooncake's traces).

    ``ids`` cover ``tokens_per_id`` tokens each; what lies after them is the request's own.
    """

    __slots__ = ("ids", "tokens_per_id")
    sees_outputs = False

    def __init__(self, ids: Sequence[int], tokens_per_id: int = 512) -> None:
        self.ids = ids
        self.tokens_per_id = tokens_per_id

    def shared_blocks(self, stop: int, block_size: int) -> int:
        return min(len(self.ids) * self.tokens_per_id // block_size, stop)

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        ids, per_id = self.ids, self.tokens_per_id
        return [("h", ids[((index + 1) * block_size - 1) // per_id], index) for index in range(start, stop)]


class TokenContent:
    """Real token ids, hashed in a chain: each key stands for the whole prefix up to its block's end.

    ``tokens`` is read as it grows, so the caller appends what the request generates. ``salt`` separates caches.
    """

    __slots__ = ("_chain", "salt", "tokens")
    sees_outputs = True

    def __init__(self, tokens: list[int], salt: str = "") -> None:
        self.tokens = tokens
        self.salt = salt
        self._chain: list[tuple[str, int]] = []

    def shared_blocks(self, stop: int, block_size: int) -> int:
        return stop

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        chain = self._chain
        while len(chain) < stop:
            index = len(chain)
            block = tuple(self.tokens[index * block_size : (index + 1) * block_size])
            chain.append((self.salt, hash((chain[-1] if chain else None, block))))
        return chain[start:stop]
