"""What a picture of the window needs: a few lines over time, with limits and onsets to draw on them."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .text import Text


class TimelineLine(msgspec.Struct, frozen=True):
    """One line. ``values`` has the timeline's length, NaN where nothing was seen."""

    id: str
    label: Text
    values: NDArray[np.float64]
    limit: float | None = None  # a level that the server cannot pass, drawn as a line
    limit_label: Text | None = None


class TimelinePanel(msgspec.Struct, frozen=True):
    """Lines that share one axis and one unit (``req ratio tok/s s 1/s W``)."""

    id: str
    title: Text
    unit: str
    lines: tuple[TimelineLine, ...]


class Timeline(msgspec.Struct, frozen=True):
    """``t`` is seconds after the window's start, at the end of each scrape interval."""

    start: float
    t: NDArray[np.float64]
    panels: tuple[TimelinePanel, ...]
