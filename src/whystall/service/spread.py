"""Engines behind one target against each other: who is slower, who carries more. A hint beside the row, and no verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from whystall.model.fleet import FleetEngine, Values
from whystall.model.text import Text

LATELY = 12  # scrapes, a minute of them at 5 s
# Replicas under one balancer differ by a fifth or so; half as much again is a node, a GPU or a route of its own.
SLOWER, SLOWER_S = 1.5, 0.005
MORE, MORE_REQUESTS = 2.0, 4.0
_SLOWER = Text(
    "tokens come {own:.0f} ms apart, {others:.0f} ms on the other {n} of {target}",
    "token 间隔 {own:.0f} 毫秒，{target} 的其他 {n} 个为 {others:.0f} 毫秒",
)
_MORE = Text(
    "it holds {own:.0f} requests, the other {n} of {target} {others:.0f} each",
    "持有 {own:.0f} 个请求，{target} 的其他 {n} 个各为 {others:.0f} 个",
)


def with_spread(engines: Sequence[FleetEngine]) -> list[FleetEngine]:
    """The engines, with what sets one apart from those behind the same target that serve the same model."""
    groups: dict[tuple[str, str], list[FleetEngine]] = defaultdict(list)
    for engine in engines:
        groups[_group(engine)].append(engine)
    return [
        replace(one, beside=_beside(one, [two for two in groups[_group(one)] if two is not one])) for one in engines
    ]


def _group(engine: FleetEngine) -> tuple[str, str]:
    return engine.name.partition("~")[0], engine.engine.model


def _beside(own: FleetEngine, others: list[FleetEngine]) -> Text:
    if not own.engine.model:
        return Text("")
    target = own.name.partition("~")[0]
    itl, theirs = _mean(own.spark.itl_s), [x for one in others if (x := _mean(one.spark.itl_s)) is not None]
    if itl is not None and theirs and itl > SLOWER * median(theirs) and itl - median(theirs) > SLOWER_S:
        return _SLOWER.format(own=1000 * itl, others=1000 * median(theirs), n=len(theirs), target=target)
    held, holding = _held(own), [x for one in others if (x := _held(one)) is not None]
    if held is not None and holding and held > MORE * median(holding) and held - median(holding) > MORE_REQUESTS:
        return _MORE.format(own=held, others=median(holding), n=len(holding), target=target)
    return Text("")


def _held(engine: FleetEngine) -> float | None:
    running, waiting = _mean(engine.spark.running), _mean(engine.spark.waiting)
    return None if running is None else running + (waiting or 0.0)


def _mean(values: Values) -> float | None:
    seen = [value for value in values[-LATELY:] if value is not None]
    return sum(seen) / len(seen) if seen else None
