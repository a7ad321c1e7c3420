"""Two engine states -> what differs, by how much, and what changed first. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from whystall.model.comparison import Comparison, Departure, FigureChange, SettingChange, Side
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Onset, Window
from whystall.model.engine_state import Bools, EngineState, Floats

from .figures import FIGURES, Figure
from .suspicion import suspects

# A figure differs where it changed by a tenth at least: two halves of a steady run of a minute differ by less.
LEAST_CHANGE = 0.10
# A figure has left its range in A for good when it lies outside it in this share of the intervals from there on.
SHARE_OUTSIDE = 0.8
LEAST_INTERVALS = 5  # fewer tell no range
# Half-width of a range in robust standard deviations, and as a share of the level: counters of a few events are ragged.
WIDTH_SIGMAS, WIDTH_SHARE = 4.0, 0.3
# Names of flags whose values are nobody's business.
SECRET = ("key", "token", "password", "secret", "credential")
SAME_LIMIT = 0.005  # the same flags on the same GPU give block counts that differ by less from start to start
# Where a server listens says nothing of how fast it is.
ADDRESSES = ("host", "port", "uds", "root_path")
# What users feel counts before what a part of it or a gauge shows, where both changed.
FELT = {"ttft_mean": 2.0, "itl_mean": 2.0, "client_ttft": 1.9, "e2e_mean": 1.8, "output_rate": 1.7, "finish_rate": 1.7}
MOST_TIMES = 100.0  # beyond it one change is as good as another: a queue that was empty has grown by any factor
_PROPERTIES = tuple(
    name
    for name in Configuration.__struct_fields__
    if name not in ("flags", "limits", "weights_bytes", "kv_cache_bytes", "graph_bytes")
)


def compare_engines(a: list[EngineState], b: list[EngineState], targets: tuple[str, str]) -> Comparison:
    """All engines of two targets; the outer comparison is of the pair that changed most. Neither list may be empty."""
    found = [compare(x, y, (side(x, targets[0]), side(y, targets[1]))) for x, y in pairs(a, b)]
    top = max(found, key=_most)
    return top if len(found) == 1 else msgspec.structs.replace(top, engines=tuple(found))


def compare(a: EngineState, b: EngineState, sides: tuple[Side, Side]) -> Comparison:
    """B against A: settings that differ, every figure that either has, and the order in which B's left A's range."""
    settings = tuple(compare_settings(a, b))
    figures = tuple(compare_figures(a, b))
    return Comparison(*sides, settings, figures, departures(a, b), suspects=suspects(settings, figures))


def side(state: EngineState, target: str) -> Side:
    """One side as it is named in a report."""
    scrapes = len(state.t_end) + 1
    return Side(target, state.engine, Window(state.start, state.start + state.seconds, state.seconds, scrapes))


def most_changed(figures: tuple[FigureChange, ...]) -> FigureChange | None:
    """The figure that changed most, of those of which one can say better or worse."""
    return max((one for one in figures if one.differs and one.better != "neither"), key=size, default=None)


def _most(comparison: Comparison) -> float:
    top = most_changed(comparison.figures)
    return size(top) if top else 0.0


def size(change: FigureChange) -> float:
    """How much a figure changed: the logarithm of its ratio, weighed by what users feel."""
    # From nothing to something has no ratio; count it as a doubling.
    logarithm = abs(math.log(change.ratio)) if change.ratio else math.log(2.0)
    return FELT.get(change.id, 1.0) * min(logarithm, math.log(MOST_TIMES))


def pairs(a: list[EngineState], b: list[EngineState]) -> list[tuple[EngineState, EngineState]]:
    """Engines that belong together: those with the same label and model, the rest in the order they come."""
    rest, found = list(b), []
    for one in a:
        other = next((x for x in rest if x.engine.id == one.engine.id and x.engine.model == one.engine.model), None)
        other = other or (rest[0] if rest else None)
        if other is not None:
            rest.remove(other)
            found.append((one, other))
    return found


def compare_settings(a: EngineState, b: EngineState) -> Iterator[SettingChange]:
    """Every setting whose value differs, or that only one of the two has."""
    first, second = a.configuration, b.configuration
    for name in _PROPERTIES:
        yield from _changed(name, "property", _text(getattr(first, name)), _text(getattr(second, name)))
    for name in sorted({*first.flags, *second.flags}.difference(ADDRESSES)):
        yield from _changed(name, "flag", _flag(name, first), _flag(name, second))
    limits = [{limit.name: limit.value for limit in state.limits} for state in (a, b)]
    for name in sorted({*limits[0], *limits[1]}):
        values = limits[0].get(name), limits[1].get(name)
        if not _near(*values):
            yield from _changed(name, "limit", *map(_text, values))


def compare_figures(a: EngineState, b: EngineState) -> Iterator[FigureChange]:
    """Every figure that at least one of the two has."""
    for figure in FIGURES:
        first, second = figure.value(a), figure.value(b)
        if math.isnan(first) and math.isnan(second):
            continue
        yield FigureChange(
            figure.id,
            figure.group,
            figure.label,
            figure.unit,
            _number(first),
            _number(second),
            second / first if first > 0 and not math.isnan(second) else None,
            _differs(first, second, figure.least),
            figure.better,
        )


def departures(a: EngineState, b: EngineState) -> tuple[Departure, ...]:
    """When each figure of B left A's range for good, in order of time; those outside from the start come first."""
    found = [departure for figure in FIGURES if (departure := _departure(figure, a, b)) is not None]
    found.sort(key=lambda departure: departure.onset.seconds if departure.onset else 0.0)
    return tuple(found)


def _departure(figure: Figure, a: EngineState, b: EngineState) -> Departure | None:
    if figure.rows is None:
        return None
    known = figure.rows(a)[a.valid]
    known = known[np.isfinite(known)]
    rows = np.where(b.valid, figure.rows(b), np.nan)
    seen = np.flatnonzero(np.isfinite(rows))
    if min(len(known), len(seen)) < LEAST_INTERVALS:
        return None
    low, high = _range(known, figure.least)
    at = lasting_from((rows[seen] < low) | (rows[seen] > high))
    if at is None:
        return None
    # Too few intervals before it tell of no time inside: a load that sets in leaves some of its own.
    return Departure(figure.id, figure.label, _onset(b, int(seen[at])) if at >= LEAST_INTERVALS else None)


def _range(known: Floats, least: float) -> tuple[float, float]:
    middle = float(np.median(known))
    spread = 1.4826 * float(np.median(np.abs(known - middle)))
    width = max(WIDTH_SIGMAS * spread, WIDTH_SHARE * abs(middle), 2 * least)
    # What A itself reached is in A's range, but for its most extreme intervals.
    return min(middle - width, float(np.quantile(known, 0.02))), max(middle + width, float(np.quantile(known, 0.98)))


def lasting_from(outside: Bools) -> int | None:
    """The first index outside from which on at least ``SHARE_OUTSIDE`` are, both of all and of the next few."""
    n = len(outside)
    out = np.concatenate((np.cumsum(outside[::-1])[::-1], [0]))
    for at in map(int, np.flatnonzero(outside)):
        near = min(LEAST_INTERVALS, n - at)
        if near < LEAST_INTERVALS:
            return None
        if out[at] >= SHARE_OUTSIDE * (n - at) and out[at] - out[at + near] >= SHARE_OUTSIDE * near:
            return at
    return None


def _onset(state: EngineState, at: int) -> Onset:
    # It happened within the interval; which of its two scrapes is nearer cannot be told.
    return Onset(float(state.t_end[at]), float(state.t_start[at]), float(state.t_end[at]))


def _differs(first: float, second: float, least: float) -> bool:
    if math.isnan(first) or math.isnan(second):
        return False
    change = abs(second - first)
    return change >= least and change >= LEAST_CHANGE * max(abs(first), abs(second))


def _changed(name: str, kind: str, first: str | None, second: str | None) -> Iterator[SettingChange]:
    if first != second:
        yield msgspec.convert({"name": name, "kind": kind, "a": first, "b": second}, SettingChange)


def _near(first: float | None, second: float | None) -> bool:
    """Whether two limits are the same but for what memory profiling makes of each start."""
    return first is not None and second is not None and abs(second - first) <= SAME_LIMIT * abs(first)


def _flag(name: str, configuration: Configuration) -> str | None:
    value = configuration.flags.get(name)
    hidden = any(word in name.lower() for word in SECRET)
    return value if value is None or not hidden else "***"


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.6g}"
    return str(value)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
