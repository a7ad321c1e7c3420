"""vLLM's defaults where the user set nothing, by device and version, for an API server.

From ``get_batch_defaults`` of vLLM 0.32; the tier from 160 GiB on is there since 0.28. They are not guessed for other
versions than those in which they were seen, nor where the device is not known.
"""

from __future__ import annotations

import msgspec

SINCE = (0, 10)
_GIB = 1024**3


class BatchDefault(msgspec.Struct, frozen=True):
    """``tokens`` is max_num_batched_tokens, ``seqs`` max_num_seqs."""

    tokens: int
    seqs: int


_HUGE = BatchDefault(16384, 1024)
_LARGE = BatchDefault(8192, 1024)
_OTHER = BatchDefault(2048, 256)
_CPU = BatchDefault(2048, 128)
# What a logged budget that nobody set says of the tier.
BY_TOKENS = {tier.tokens: tier for tier in (_HUGE, _LARGE, _OTHER)}


def gpu_default(memory_bytes: float | None, name: str, version: tuple[int, ...]) -> BatchDefault | None:
    """The tier of a GPU; None where the memory is not known, or is an A100's or not by a name that is missing."""
    if memory_bytes is None or version < SINCE:
        return None
    gib = memory_bytes / _GIB
    if gib >= 160:
        return _HUGE if version >= (0, 28) else _LARGE
    if gib < 70:
        return _OTHER
    if not name and gib < 100:  # an A100 has 80 GB, an H100 too
        return None
    return _OTHER if "a100" in name.lower() else _LARGE


def cpu_default(world_size: int, version: tuple[int, ...]) -> BatchDefault | None:
    if version < SINCE:
        return None
    return BatchDefault(_CPU.tokens * world_size, _CPU.seqs * world_size)


def gpu_memory_utilization(version: tuple[int, ...]) -> float | None:
    if version < SINCE:
        return None
    return 0.92 if version >= (0, 20) else 0.90
