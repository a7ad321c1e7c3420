"""``engine_kwargs`` of Ray Serve's LLM configuration as a command line of vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def words_of(engine: Mapping[str, Any]) -> tuple[str, ...]:
    """The same flags as words: ``max_num_seqs: 4`` is ``--max-num-seqs 4``; a switch stands alone, or as ``--no-…``."""
    words: list[str] = []
    for name, value in sorted(engine.items()):
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            words += [flag, value if isinstance(value, str) else msgspec.json.encode(value).decode()]
    return tuple(words)
