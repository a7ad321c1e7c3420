"""The single values of a ticket's tree, each with the names that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_MOST_LEAVES = 2000


class Leaf(NamedTuple):
    """A value with the names that lead to it, as one text with ``_`` before, between and after the words."""

    path: str
    key: str
    value: Any


def path_of(*names: str) -> str:
    """Names as one text: small letters and digits, ``_`` before, between and after the words."""
    return "_" + re.sub(r"[^a-z0-9]+", "_", " ".join(names).lower()[:200]).strip("_") + "_"


def leaves_of(found: dict[Any, Any], path: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Every single value of a tree; of a list its texts and what its trees hold."""
    if depth > 8:
        return
    for key, value in list(found.items())[:_MOST_LEAVES]:
        here = f"{path} {key}"
        if isinstance(value, dict):
            yield from leaves_of(value, here, depth + 1)
        elif isinstance(value, list):
            for item in value[:100]:
                if isinstance(item, dict):
                    yield from leaves_of(item, here, depth + 1)
                elif isinstance(item, str):
                    yield Leaf(path_of(here), path_of(str(key)), item)
        else:
            yield Leaf(path_of(here), path_of(str(key)), value)
