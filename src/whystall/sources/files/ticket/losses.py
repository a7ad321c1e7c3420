"""Losses that a ticket states as such: ``slowdown: 4``, ``tpot_ratio: 3``, a part's share of the step, one replica's share.

Each becomes a comparison with and without one thing (:class:`~whystall.model.recording.Contrast`), as two measured cases do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from whystall.model.recording import Contrast

from .document import Ticket
from .features import named_features, part_of, suspect_of
from .figure import Figure, figure
from .host import host_losses
from .leaf import Leaf, leaves_of, path_of
from .names import name_of
from .startup import slow_starts
from .statements import Statements

STATED = "stated"  # the figure of a comparison that is stated as such
_LEAST = 1.02  # a ratio that is nearer to one is no loss
_MOST = 1e6
_RATIO = re.compile(r"_(?:slowdown|slow_down|times_slower|x_slower|slower_x|factor_slower)_")
_TIMES = r"(?:ttft|itl|tpot|e2e|latency|duration|wall|step|time|stall|prefill|decode)"
_TIME_RATIO = re.compile(rf"_{_TIMES}_(?:p\d\d_)?ratio_|_ratio_{_TIMES}_|_{_TIMES}_(?:p\d\d_)?x_")
_LOST = re.compile(r"_(?:loss|drop|lost|decrease|reduction|regression|degradation|lower)_")
_ADDED = re.compile(r"_(?:overhead|increase|slower|penalty|slowdown|higher|longer|worse|inflation)_")
_DELTA = re.compile(r"_(?:delta|change|diff|difference)_")
_LATENCY = re.compile(rf"_{_TIMES}_")
_PERCENT = re.compile(r"_(?:pct|percent|percentage)_")
_WORSE_TEXT = re.compile(
    r"(\d{1,6}(?:\.\d{1,4})?)\s?(?:x|×|times|-?fold)\s+(?:\w+\s+){0,2}?(?:slower|slow|worse|longer|higher|regression|more)",
    re.IGNORECASE,
)
_PERCENT_TEXT = re.compile(
    r"(\d{1,3}(?:\.\d{1,3})?)\s?(?:%|percent)\s+(?:\w+\s+){0,2}?(slower|regression|drop|loss|lower|worse)",
    re.IGNORECASE,
)
_SHARE = re.compile(r"_(?:share|pct|percent|fraction|of_step|of_time|of_wall|self|own|ratio)_")
_PROFILE = re.compile(r"_(?:pyspy|py_spy|profile|profiler|trace|flame|flamegraph|perf|nsys|cprofile|breakdown)_")
_NOT_TIME = re.compile(r"_(?:accept|acceptance|hit|util|usage|cache|gil|kv|pages|success|throttl\w*|throttle\w*)_")
_PEERS = re.compile(
    r"_(?:engines?|replicas?|ranks?|dp|dps|instances?|pods?|workers?|backends?|endpoints?|gpus?|nodes?|servers?)_"
)
_OF_PEERS = frozenset(
    ("running", "waiting", "served", "requests", "kv_usage", "generation_tps", "prompt_tps", "rate", "in_flight")
)
_UNEVEN = 1.5  # the busiest has half again the mean
_SAME_TIME = 1.15  # steps that differ by less take the same time
_OTHER_WORK = 2.0
_COUNT = re.compile(r"(?:_per_(?:token|step|layer)|_calls|_count)_$")


def stated_losses(ticket: Ticket, stated: Statements, *, window: bool = False) -> tuple[Contrast, ...]:
    """What the ticket says is worse, and with what; the feature is "" where it does not say or says several.

    ``window``: the figures make a window, so that the server serves; how long it took to start is another story.
    """
    leaves = list(leaves_of(ticket.symptoms))
    found: dict[str, float] = {}
    for feature, ratio in (
        *_ratios(leaves, ticket),
        *_shares(leaves),
        *_costs(leaves, stated),
        *_uneven(ticket.symptoms),
        *_of_rows(stated),
        *_lockstep(ticket.symptoms),
        *_dependence(ticket.symptoms),
        *host_losses(ticket.symptoms, leaves),
        *(() if window else slow_starts(ticket.symptoms, leaves)),
    ):
        if _LEAST < ratio < _MOST:
            found[feature] = max(found.get(feature, 0.0), ratio)
    return tuple(Contrast(feature, STATED, ratio) for feature, ratio in found.items())


def _ratios(leaves: list[Leaf], ticket: Ticket) -> Iterator[tuple[str, float]]:
    for leaf in leaves:
        ratio = _ratio(leaf)
        if ratio is None:
            continue
        told = named_features(leaf.path + (leaf.value.lower() if isinstance(leaf.value, str) else ""))
        named = told if len(told) == 1 else set[str]()
        yield (next(iter(named)) if named else suspect_of(ticket)), ratio


def _ratio(leaf: Leaf) -> float | None:
    """How many times worse a leaf says that it is; None where it says nothing of the kind."""
    stated = figure(leaf.value)
    if isinstance(leaf.value, str):
        if (times := _WORSE_TEXT.search(leaf.value[:300])) is not None:
            return float(times[1])
        if (lost := _PERCENT_TEXT.search(leaf.value[:300])) is not None:
            return _without(float(lost[1]))
        if stated is None and (_RATIO.search(leaf.key) or leaf.key == "_ratio_"):
            bare = re.match(r"\s*~?(\d{1,6}(?:\.\d+)?)\s?(?:x|×)", leaf.value)
            return float(bare[1]) if bare else None
    if stated is None:
        return None
    if _RATIO.search(leaf.key) and not _PERCENT.search(leaf.key):
        return stated.middle
    if _TIME_RATIO.search(leaf.key) or leaf.key == "_ratio_":
        return stated.middle
    return _percent(leaf.key, leaf.path, stated) if _PERCENT.search(leaf.key) or stated.unit == "%" else None


def _percent(key: str, path: str, stated: Figure) -> float | None:
    share = stated.middle
    if _DELTA.search(key):
        if share < 0 and not _LATENCY.search(path):
            return _without(-share)
        return 1 + share / 100 if share > 0 and _LATENCY.search(path) else None
    if _ADDED.search(key):
        return 1 + share / 100
    if _LOST.search(key):
        return 1 + share / 100 if _LATENCY.search(key) and "regression" in key else _without(share)
    return None


def _without(percent: float) -> float:
    return 1 / (1 - percent / 100) if 0 < percent < 100 else 1.0


def _shares(leaves: list[Leaf]) -> Iterator[tuple[str, float]]:
    """A part's share of the time, from a profile: without it, the rest would be left."""
    for leaf in leaves:
        part = part_of(leaf.key)
        if not part or not _SHARE.search(leaf.key) or _NOT_TIME.search(leaf.key) or _RATIO.search(leaf.key):
            continue
        percent = bool(_PERCENT.search(leaf.key))
        stated = figure(leaf.value)
        if stated is None or not (percent or stated.unit == "%" or stated.high <= 1):
            continue
        if not (
            (percent and _PROFILE.search(leaf.path))
            or "_share_" in leaf.key
            or "_of_" in leaf.key
            or "_own_" in leaf.key
        ):
            continue
        share = stated.middle * (1.0 if percent or stated.unit == "%" else 100.0)
        if 5 <= share < 100:
            yield part, _without(min(share, 99.0))


def _costs(leaves: list[Leaf], stated: Statements) -> Iterator[tuple[str, float]]:
    """A part's time in each step or token, against the step's or token's own time."""
    step = max(_paces(stated), default=0.0)
    counts = {part_of(leaf.key): f.middle for leaf in leaves if _COUNT.search(leaf.key) and (f := figure(leaf.value))}
    spent: dict[str, float] = {}
    for leaf in leaves:
        parent = part_of(leaf.path)
        unit = next((u for u in ("us", "ms") if f"_{u}_" in leaf.path), "")
        value = figure(leaf.value)
        if not parent or not unit or value is None or _COUNT.search(leaf.key) or name_of(leaf.key.strip("_")).quantity:
            continue
        if re.search(r"_(?:sum|total|before|after|max|bytes|size)_", leaf.key):
            continue
        seconds = value.middle * (1e-6 if unit == "us" else 1e-3)
        if parent not in spent:  # the first of several sizes: the smallest message is the decode's
            spent[parent] = seconds
    for part, seconds in spent.items():
        cost = seconds * counts.get(part, 1.0)
        if 0 < cost < step:
            yield part, step / (step - cost)


def _paces(stated: Statements) -> Iterator[float]:
    """Seconds a token, of every case that says so; a single request's speed says it too."""
    for values in (stated.common, *(case.values for case in stated.cases)):
        for slot, value in values.items():
            name = slot.partition(".")[0]
            if name in ("itl", "tpot"):
                yield value.middle
            if (
                name == "generation_tps"
                and value.middle > 0
                and ("in_flight" not in values or values["in_flight"].high <= 1)
            ):
                yield 1 / value.middle


def _uneven(found: dict[Any, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Replicas of which one has far more than its share: a list of a count, or cases side by side with one."""
    if depth > 6:
        return
    for key, value in found.items():
        here = path_of(path, str(key))
        if isinstance(value, list) and (numbers := _numbers(value)) and _PEERS.search(here):
            name = name_of(str(key)).quantity
            if name in _OF_PEERS or re.search(r"_tokens_|_load_", here):
                yield from _spread("replicas", numbers)
            elif re.search(r"_(?:ms|us|s)_", here) and "rank" in here:
                yield from _spread("straggler", numbers)
        if isinstance(value, dict):
            yield from _uneven(value, here, depth + 1)
    sides = [value for value in found.values() if isinstance(value, dict)]
    for name in ("served", "requests_served", "routed", "share_pct", "requests_routed"):
        numbers = [f.middle for side in sides if (f := figure(side.get(name))) is not None]
        if len(numbers) == len(sides) >= 2:
            yield from _spread("replicas", numbers)


def _numbers(value: list[Any]) -> list[float]:
    found = [f.middle for item in value if (f := figure(item)) is not None]
    return found if 2 <= len(found) == len(value) <= 1024 else []


def _spread(feature: str, numbers: list[float]) -> Iterator[tuple[str, float]]:
    mean = sum(numbers) / len(numbers)
    if mean > 0 and max(numbers) >= _UNEVEN * mean:
        yield feature, max(numbers) / mean


def _of_rows(stated: Statements) -> Iterator[tuple[str, float]]:
    """The last row of statistics that says of each engine how many it runs."""
    for row in reversed(stated.rows):
        for name in ("running", "kv_usage", "waiting"):
            numbers = [value for value in row.engines.get(name, ()) if value is not None]
            if len(numbers) >= 2 and sum(numbers) >= len(numbers) * (0 if name == "kv_usage" else 1):
                yield from _spread("replicas", numbers)
                return


def _lockstep(found: dict[Any, Any], depth: int = 0) -> Iterator[tuple[str, float]]:
    """Ranks with other amounts of work whose steps take the same time: they wait for the busiest."""
    for value in found.values():
        if isinstance(value, dict) and depth < 6:
            yield from _lockstep(value, depth + 1)
        if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, dict) for row in value):
            continue
        if not all(re.search(r"_(?:dp|dp_rank|rank|engine)_", path_of(*map(str, row))) for row in value[:64]):
            continue
        work = _column(value[:64], r"_(?:new_tokens|tokens|running|num_tokens|batch|scheduled_tokens)_")
        times = _column(value[:64], r"_(?:gap|step|step_time|latency|iteration|forward|duration)_(?:s|ms|us)_")
        if len(work) == len(times) == len(value[:64]) and min(times) > 0:
            mean = sum(work) / len(work)
            if max(times) <= _SAME_TIME * min(times) and mean > 0 and max(work) >= _OTHER_WORK * max(min(work), 1e-9):
                yield "lockstep", max(work) / mean


def _column(rows: list[dict[Any, Any]], pattern: str) -> list[float]:
    found = []
    for row in rows:
        value = next((figure(v) for k, v in row.items() if re.search(pattern, path_of(str(k)))), None)
        if value is not None:
            found.append(value.middle)
    return found


def _dependence(found: dict[Any, Any]) -> Iterator[tuple[str, float]]:
    """``by_logprobs: [{n: 100, …}, {n: 1000, …}]``: how much a figure changes with how much there is of one thing."""
    for key, rows in found.items():
        told = named_features(path_of(str(key))) if re.search(r"_by_|_vs_|_against_", path_of(str(key))) else set[str]()
        if len(told) != 1 or not isinstance(rows, list) or len(rows) < 2 or not all(isinstance(r, dict) for r in rows):
            continue
        columns = [c for c in rows[0] if all(figure(row.get(c)) is not None for row in rows[:200])]
        if len(columns) < 2:
            continue
        varied, *measured = columns
        order = sorted(rows[:200], key=lambda row: figure(row[varied]).middle)  # type: ignore[union-attr]
        for column in measured:
            first, last = (figure(row[column]) for row in (order[0], order[-1]))
            if first and last and min(first.middle, last.middle) > 0:
                quantity = name_of(str(column)).quantity
                grows = last.middle / first.middle
                # A column without a unit changes for the worse, or nobody would have written it down.
                ratio = max(grows, 1 / grows) if not quantity else grows if "tps" not in quantity else 1 / grows
                yield next(iter(told)), ratio
