"""vLLM's versions, as far as tables of flags need them."""

from __future__ import annotations

import re

# The newest release whose parser the tables were compared with.
NEWEST = (0, 32)


def numbers(version: str) -> tuple[int, ...]:
    """``0.26.1.dev3+gabc`` as (0, 26, 1); () where it names no version."""
    return tuple(int(part) for part in re.findall(r"\d{1,6}", version.partition("+")[0])[:3])


def within(version: tuple[int, ...], since: str, until: str) -> bool:
    """Whether ``version`` lies between two releases, both included; "" bounds nothing.

    A version that is not known lies only where nothing bounds. The bounds are the first and the last sampled release
    that had the thing, so what was released between samples counts as outside.
    """
    if not version:
        return not since and not until
    return (not since or version >= numbers(since)) and (not until or version[: len(numbers(until))] <= numbers(until))


def is_newer(version: tuple[int, ...]) -> bool:
    """Whether the version is newer than the tables."""
    return version[:2] > NEWEST
