"""What is sent and when: the same for both arms, but for tokens at the start that keep their prefix caches apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle
from zlib import crc32

import msgspec
import numpy as np

from whystall.emulator.engine.workload import Arrival

_VOCABULARY = 30000  # token ids below it are words of nearly every model
_FIRST = 10  # below are special tokens
_SALT_TOKENS = 4  # the first block's key holds them, and every later key holds the first
_TOKENS_PER_HASH = 512  # Mooncake's traces


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Requests for ``seconds``. Open loop: each goes out at its ``t``. Closed loop: ``clients`` take one after another.

    ``salt`` separates prefix caches: traces that differ only in it share no prompt, and are else the same. ``seed`` draws
    what a prompt does not share.
    """

    seconds: float
    arrivals: tuple[Arrival, ...]
    clients: int = 0
    think_s: float = 0.0
    salt: int = 0
    seed: int = 0

    def salted(self, salt: int) -> Trace:
        return msgspec.structs.replace(self, salt=salt)

    def endless(self) -> Iterator[Arrival]:
        """Requests for a closed loop, which may need more than were drawn."""
        return cycle(self.arrivals)

    def prompt(self, arrival: Arrival, index: int) -> list[int]:
        """Token ids of the ``index``-th request: what it shares with others, then its own."""
        shared: list[int] = []
        if arrival.hash_ids:
            for number in arrival.hash_ids:
                shared += _tokens(f"h{number}", _TOKENS_PER_HASH)
        elif arrival.prefix_tokens:
            shared = list(_tokens(f"p{arrival.prefix}", arrival.prefix_tokens))
        shared = shared[: arrival.prompt_tokens]
        own = _draw(f"{self.salt}/{self.seed}/{index}", arrival.prompt_tokens - len(shared))
        prompt = shared + own
        salt = _tokens(f"s{self.salt}", _SALT_TOKENS)[: len(prompt)]
        return [*salt, *prompt[len(salt) :]]


@lru_cache(maxsize=512)
def _tokens(name: str, number: int) -> tuple[int, ...]:
    return tuple(_draw(name, number))


def _draw(name: str, number: int) -> list[int]:
    ids: list[int] = np.random.default_rng(crc32(name.encode())).integers(_FIRST, _VOCABULARY, number).tolist()
    return ids
