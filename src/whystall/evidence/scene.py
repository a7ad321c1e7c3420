"""The numbers that several pieces of evidence share, each computed once."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Evidence, Onset, Signal
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.profiles.figures import TraceFigures
from whystall.state.histograms import mean_of
from whystall.state.step_cost import TERMS, StepRows

from .focus import Focus, focus
from .pace import Pace, decode_s, pace, surely
from .queueing import queue_delay
from .symptoms import decode_itl, paced_itl
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Known(msgspec.Struct, frozen=True):
    """What a saved healthy recording tells of this engine (``evidence/baseline.py``)."""

    source: str
    version: str
    rows: StepRows
    figures: dict[str, float]


class Scene:
    """One engine's window with its incident marked. ``inside`` and ``before`` select intervals."""

    def __init__(
        self,
        state: EngineState,
        slo: Slo | None = None,
        trace: TraceFigures | None = None,
        known: Known | None = None,
    ) -> None:
        self.state = state
        self.trace = trace
        self.slo = slo
        self.known = known
        self.paced: Pace | None = pace(state, known.rows, known.figures["usual_itl"]) if known else pace(state)
        self.focus: Focus = focus(state, slo, self.paced)
        self.inside: Bools = self.focus.inside & state.valid
        self.before: Bools = self.focus.before

    @cached_property
    def seconds(self) -> float:
        return float(self.state.dt[self.inside].sum())

    @cached_property
    def queued(self) -> Bools:
        """Intervals of the incident with a queue at either end."""
        s = self.state
        return self.inside & ((s.waiting_end > 0) | (s.waiting_start > 0))

    @cached_property
    def queue_delay_s(self) -> float:
        """Wait of a request that arrives during the incident: the larger of Little's law and the histogram; NaN unseen.

        A queue that comes and goes is measured while it is there, where that is a part of the incident worth naming.
        The histogram fills at the finish and so lags; Little's law is blind to a queue between scrapes.
        """
        delay = queue_delay(self.state)[self.inside]
        finite = delay[np.isfinite(delay)]
        weights = self.state.dt[self.inside][np.isfinite(delay)]
        there = self.most_of(finite, "queue")
        finite, weights = finite[there], weights[there]
        fresh = float(np.average(finite, weights=weights)) if len(finite) else float("nan")
        # Requests that waited longer than the window have not been admitted in it: then the queue is at least that long.
        longer = self.seconds if np.isinf(delay).mean() > 0.5 else float("nan")
        return float(np.fmax.reduce([fresh, longer, mean_of(self.state.queue, self.inside)]))

    def most_of(self, values: Floats, kind: str) -> Bools:
        """Which of ``values``, one by interval, lie in the part of the incident that has a ``kind`` of loss: the highest.

        All of them where that part is not worth naming.
        """
        part = self.focus.times.get(kind, 0.0)
        if not (len(values) and level("gain") <= part < 1):
            return np.ones(len(values), dtype=bool)
        return np.asarray(values >= np.quantile(values, 1 - part), dtype=bool)

    @cached_property
    def decode_itl_s(self) -> float:
        """That of steps without prompts, before steps slowed at equal work; NaN where there are none."""
        return decode_itl(self.state, self.paced.usual if self.paced is not None else None)

    @cached_property
    def usual_itl_s(self) -> float:
        """What the incident's ITL is compared with: that of steps without prompts, else the median one."""
        return paced_itl(self.state, level("felt_itl"), self.paced)

    @cached_property
    def batch_itl_s(self) -> float:
        """The usual ITL, or the longer one that the incident's own batches take without their prompts."""
        return float(np.fmax(self.usual_itl_s, decode_s(self.paced, self.inside)))

    @cached_property
    def slowdown(self) -> float:
        """How many times longer steps take than their batch explains, at least 1; 1 where they are as usual."""
        if self.paced is None or not self.paced.changed:
            return 1.0
        slower = self.paced.residual[self._alike]
        return max(float(np.exp(np.median(slower))), 1.0) if len(slower) else 1.0

    @cached_property
    def surely_slower(self) -> bool:
        """Whether steps are slower than their batch explains by what is worth naming, the line's doubt taken off."""
        if self.paced is None or not self.paced.changed:
            return False
        sure = surely(self.paced.rows, self.paced.cost)[self._alike]
        return bool(len(sure)) and float(np.median(sure)) > -np.log(1 - level("gain"))

    @cached_property
    def _alike(self) -> Bools:
        """Rows of the incident whose steps the healthy line can judge; none where it cannot judge most of them.

        A line that saw decoding alone says nothing of steps full of prompts: no more than twice the tokens that it was
        fitted to. One that saw prompts knows what a token costs, as far as its own doubt allows.
        """
        assert self.paced is not None
        rows, cost = self.paced.rows, self.paced.cost
        tokens, requests = (cost.reach[TERMS.index(term)] for term in ("tokens", "requests"))
        near = rows.work[:, TERMS.index("tokens")] <= level("slow_factor") * tokens
        if tokens > level("slow_factor") * requests:
            near |= cost.doubt(rows.work) <= level("line_doubt")
        inside = self.inside[rows.first]
        return np.asarray(inside & near & (2 * (inside & near).sum() > inside.sum()), dtype=bool)

    def before_or(self, figure: str, own: float) -> float:
        """A figure of this window's healthy past; of the saved baseline where it has none."""
        return own if self.before.any() or self.known is None else self.known.figures.get(figure, float("nan"))

    @cached_property
    def prompt_tokens(self) -> float:
        """Tokens of a typical prompt during the incident, cached ones included; NaN when none came."""
        return self.ratio(self.state.prompt_tokens, self.state.first_tokens)

    def ratio(self, over: Floats, under: Floats, where: Bools | None = None) -> float:
        """Sum of one increase over the sum of another; NaN where nothing was counted."""
        at = self.inside if where is None else where
        total, count = float(np.nansum(over[at])), float(np.nansum(under[at]))
        return total / count if count > 0 else float("nan")

    def rate(self, increase: Floats, where: Bools | None = None) -> float:
        """Increase per second over the chosen intervals; NaN where nothing was seen."""
        at = (self.inside if where is None else where) & np.isfinite(increase)
        seconds = float(self.state.dt[at].sum())
        return float(increase[at].sum()) / seconds if seconds > 0 else float("nan")

    def mean(self, values: Floats, where: Bools | None = None) -> float:
        """Time-weighted mean of a gauge; NaN where it was not seen."""
        at = (self.inside if where is None else where) & np.isfinite(values)
        seconds = float(self.state.dt[at].sum())
        return float((values[at] * self.state.dt[at]).sum()) / seconds if seconds > 0 else float("nan")

    def share(self, condition: Bools, of: Bools | None = None) -> float:
        """Share of the time of ``of`` (the incident) in which a condition holds; NaN when there is no such time."""
        at = self.inside if of is None else of
        seconds = float(self.state.dt[at].sum())
        return float(self.state.dt[at & condition].sum()) / seconds if seconds > 0 else float("nan")

    def onset_at(self, t: float) -> Onset:
        """The onset of what was logged at second ``t``: within a second of the line, and inside the window."""
        end = self.state.seconds
        return Onset(min(max(t, 0.0), end), min(max(t - 1, 0.0), end), min(max(t + 1, 0.0), end))

    def denser_from(self, gone: float, back: float, soon_s: float) -> bool:
        """Whether losses fill twice as much of the ``soon_s`` from second ``back`` on as of the time until ``gone``."""
        s, lost = self.state, self.focus.lost & self.state.valid
        early, late = s.valid & (s.t_end <= gone), s.valid & (s.t_start >= back) & (s.t_end <= back + soon_s)
        if not (early.any() and late.any()):
            return False
        return self.share(lost, late) >= max(level("gain"), level("slow_factor") * self.share(lost, early))

    def evidence(
        self,
        name: str,
        value: float,
        unit: str,
        strength: float,
        text: Text,
        source: Signal = "metrics",
        onset: Onset | None = None,
        anomaly: bool = False,
    ) -> Evidence:
        return Evidence(
            id=name,
            value=float(value) if np.isfinite(value) else None,
            unit=unit,
            strength=float(strength),
            text=text,
            source=source,
            onset=onset,
            window_s=self.seconds,
            anomaly=anomaly,
        )
