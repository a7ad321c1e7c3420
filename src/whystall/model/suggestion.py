"""What a fix would do about a limit that is not reached yet: the dry run that a forecast starts."""

from __future__ import annotations

import msgspec

from .diagnosis import Remedy
from .prediction import PredictedMetric
from .text import Text


class Suggestion(msgspec.Struct, frozen=True):
    """A remedy for what is foreseen, and what it would do; nothing was changed.

    ``load_factor``: so many times today's load is where the forecast's slope leads within its horizon. ``without`` has
    the metrics under that load as the server is set now, ``remedy.prediction`` those with the remedy. ``remedy`` is None
    where none helps; ``because`` says why, else why this one. ``change`` is the exact change, as ``whystall fix`` would
    make it, and ``undo`` the way back; "" where nothing is known that could make it here (``not_planned`` says why).
    """

    because: Text
    load_factor: float = 1.0
    without: tuple[PredictedMetric, ...] = ()
    remedy: Remedy | None = None
    change: str = ""
    undo: str = ""
    not_planned: Text = msgspec.field(default_factory=lambda: Text(""))
