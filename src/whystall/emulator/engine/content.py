"""What a prompt is made of, as far as the prefix cache cares: one key a full block, equal for equal prefixes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

# Keys of made-up content are numbers: an identity in the high bits, the block's index in the low ones.
_INDEX_BITS = 24


class Content(Protocol):
    """Gives the keys of full blocks: prompt first, then what the request generates.

    ``sees_outputs``: its prompt may hold what another request generated.
    """

    sees_outputs: bool

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        """Keys of blocks ``start`` to ``stop`` (exclusive)."""


class OwnContent:
    """A prompt that starts with ``prefix_tokens`` shared by all of the same ``prefix``, and is its own after that.

    ``uid`` and ``prefix`` are numbers from different ranges: a prefix is negative or 0 (none).
    """

    __slots__ = ("prefix", "prefix_tokens", "uid")
    sees_outputs = False

    def __init__(self, uid: int, prefix: int = 0, prefix_tokens: int = 0) -> None:
        self.uid = uid
        self.prefix = prefix
        self.prefix_tokens = prefix_tokens if prefix else 0

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        own = (self.uid + 1) << _INDEX_BITS
        shared = min(max(self.prefix_tokens // block_size, start), stop)
        if shared == start:
            return range(own + start, own + stop)
        prefix = self.prefix << _INDEX_BITS
        return [*range(prefix + start, prefix + shared), *range(own + shared, own + stop)]


class HashedContent:
    """A prompt given as ids of longer blocks whose ids already stand for the whole prefix (Mooncake's traces).

    ``ids`` cover ``tokens_per_id`` tokens each; what lies after them is the request's own.
    """

    __slots__ = ("ids", "tokens_per_id", "uid")
    sees_outputs = False

    def __init__(self, uid: int, ids: Sequence[int], tokens_per_id: int = 512) -> None:
        self.uid = uid
        self.ids = ids
        self.tokens_per_id = tokens_per_id

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        return [self._key(index, block_size) for index in range(start, stop)]

    def _key(self, index: int, block_size: int) -> Hashable:
        last = ((index + 1) * block_size - 1) // self.tokens_per_id
        if last < len(self.ids):
            return ("h", self.ids[last], index)
        return ("u", self.uid, index)


class TokenContent:
    """Real token ids, hashed in a chain: each key stands for the whole prefix up to its block's end.

    ``tokens`` is read as it grows, so the caller appends what the request generates. ``salt`` separates caches.
    """

    __slots__ = ("_chain", "salt", "tokens")
    sees_outputs = True

    def __init__(self, tokens: list[int], salt: str = "") -> None:
        self.tokens = tokens
        self.salt = salt
        self._chain: list[int] = []

    def keys(self, start: int, stop: int, block_size: int) -> Sequence[Hashable]:
        chain = self._chain
        while len(chain) < stop:
            index = len(chain)
            block = tuple(self.tokens[index * block_size : (index + 1) * block_size])
            chain.append(hash((chain[-1] if chain else self.salt, block)))
        return chain[start:stop]
