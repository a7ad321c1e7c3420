"""What serving costs, what a bottleneck wastes of it, and what would be saved. Field names are the published JSON contract.

Money is in whatever currency the price of a GPU's hour was given in.
"""

from __future__ import annotations

import msgspec

from .prediction import Interval
from .text import Text


class Saving(msgspec.Struct, frozen=True):
    """What a million generated tokens would cost with a remedy, and what that saves of today's; below 0 it costs more.

    ``remedy`` is its id. ``gpus_at_slo``: GPUs that today's load needs with it at the SLO, None where none was given or
    it is more than was tried.
    """

    remedy: str
    text: Text
    gpus: int
    per_million_tokens: Interval
    saves_per_million_tokens: Interval
    gpus_at_slo: int | None = None


class Cost(msgspec.Struct, frozen=True):
    """One engine's cost over the window that was looked at.

    ``per_million_tokens``: generated ones; None where none were. ``wasted_per_hour``: the part of ``per_hour`` that the
    best remedy on the same GPUs would not need for the same tokens; None where none was predicted.
    ``gpus_at_slo`` as in :class:`Saving`, with the server as it is.
    """

    gpu_hour: float
    gpus: int
    per_hour: float
    per_million_tokens: float | None
    wasted_per_hour: float | None
    gpus_at_slo: int | None
    most_gpus_tried: int
    savings: tuple[Saving, ...] = ()
