"""A long time at a glance: when each engine lost most, by a few curves at a coarse step.

A week of a hundred engines is a thousand million raw samples, and a diagnosis needs those of the half hour that matters.
So seven curves an engine are asked for over all of it (five from the recording rules of ``whystall export alerts`` where
Prometheus has them), and only the worst time of each engine is then read in full. A mean over a step hides a stall of
seconds; the share of a histogram over a high bound does not, since each request that was under way has a gap in it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.errors import TooLarge
from whystall.model.recording import Floats
from whystall.sources.dialects import describe
from whystall.sources.dialects.entry import Part
from whystall.sources.dialects.page_names import STYLES, page_names

from .asking import Asking

LONG_S = 7200.0  # a diagnosis of more than this would say of no moment what it was
STEPS = 2016  # a week in steps of five minutes; Prometheus gives 11,000 at most
LEAST_STEP_S = 60.0
RATE_S = 120.0  # a rate over less has too few samples at a scrape in 30 s
# What somebody feels (as the diagnosis has it): 200 ms more to the first token, tokens a quarter later than usual.
FELT_TTFT_S, SLOWER = 0.2, 1.25
# What a request loses that finds nobody there: as long as clients wait for an answer at least.
AWAY_S = 10.0
# A gap that every reader notices, and a wait that is no usual queue's: a bucket of vLLM's ends at each in every version.
GAP_S, LONG_WAIT_S = 0.5, 2.5
FEW = 3  # such gaps or waits in a step: one long prompt, not a stall of whoever is there
_MOST_NAMED = 200  # instances in one matcher: a query stands in an address, which has its bounds
BEFORE_S, AFTER_S = 600.0, 1200.0  # of the raw samples around the begin: what was usual, and what then went on
RECENT_S = 900.0  # what is read of an engine that lost nothing
_TTFT, _ITL = "time_to_first_token_seconds", "inter_token_latency_seconds"
# As `whystall export alerts` records them; the reports stand above the sources, so a test compares the names.
RECORDED = {
    "ttft": "whystall:ttft_mean_s",
    "requests": "whystall:requests_per_s",
    "itl": "whystall:itl_mean_s",
    "tokens": "whystall:generation_tokens_per_s",
}
Curve = dict[str, tuple[Floats, Floats]]  # by instance
Chosen = NDArray[np.bool_]


class Episode(msgspec.Struct, frozen=True):
    """A time in which an engine lost something: unix seconds, and request-seconds lost."""

    begin: float
    end: float
    lost_s: float


class Surveyed(msgspec.Struct, frozen=True):
    """Each engine's episodes, the worst first. ``by_rules`` is whether recorded figures were read instead of raw ones."""

    episodes: dict[str, tuple[Episode, ...]]
    step_s: float
    by_rules: bool


async def survey(asking: Asking, matchers: str, begin: float, end: float) -> Surveyed:
    """When each engine lost something between ``begin`` and ``end``. Raises what the asking does."""
    step_s = max(float(np.ceil((end - begin) / STEPS)), LEAST_STEP_S)
    by_rules = await _has_rules(asking, matchers, begin, end)
    window_s = max(step_s, RATE_S)
    queries = _by_rules(matchers, step_s) if by_rules else _raw(matchers, window_s)
    queries |= {
        "waits": _beyond(_TTFT, LONG_WAIT_S, matchers, window_s),
        "gaps": _beyond(_ITL, GAP_S, matchers, window_s),
    }
    answers = await asyncio.gather(*(_curve(asking, query, begin, end, step_s) for query in queries.values()))
    curves = dict(zip(queries, answers, strict=True))
    names = sorted(set(curves["requests"]) | set(curves["tokens"]))
    up = _up(_narrowed(matchers, names), window_s)
    curves["up"] = await _curve(asking, up, begin, end, step_s) if names else {}
    times = np.arange(begin, end + step_s / 2, step_s)
    return Surveyed(
        {name: _episodes(times, _aligned(curves, name, times, step_s), step_s) for name in names}, step_s, by_rules
    )


def window_of(episode: Episode | None, end: float) -> tuple[float, float]:
    """What of an engine is read in full: around the begin of its worst episode, or the last minutes."""
    if episode is None:
        return end - RECENT_S, end
    return episode.begin - BEFORE_S, min(episode.end + BEFORE_S / 2, episode.begin + AFTER_S, end)


# -- asking


async def _has_rules(asking: Asking, matchers: str, begin: float, end: float) -> bool:
    """Whether all figures were recorded from the begin to the end."""
    inside = f'__name__=~"{"|".join(RECORDED.values())}"' + (f",{matchers}" if matchers else "")
    hour = min(3600.0, end - begin)
    for at in (begin + hour, end):
        found = await asking.series(f"count by (__name__) (last_over_time({{{inside}}}[{hour:.0f}s]))", at, "vector")
        if {one.labels().get("__name__") for one in found} != set(RECORDED.values()):
            return False
    return True


async def _curve(asking: Asking, query: str, begin: float, end: float, step_s: float) -> Curve:
    try:
        found = await asking.curve(query, begin, end, step_s)
    except TooLarge:
        middle = begin + step_s * round((end - begin) / step_s / 2)
        if not begin < middle < end:
            raise
        early = await _curve(asking, query, begin, middle - step_s, step_s)
        return _behind(early, await _curve(asking, query, middle, end, step_s))
    return {one.labels().get("instance", ""): one.columns() for one in found}


def _behind(early: Curve, late: Curve) -> Curve:
    none = (np.zeros(0), np.zeros(0))
    pairs = {name: (early.get(name, none), late.get(name, none)) for name in {**early, **late}}
    return {n: (np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])) for n, (a, b) in pairs.items()}


def _raw(matchers: str, window_s: float) -> dict[str, str]:
    """Rates of sums and counts alone: of a histogram's twenty series two."""
    return {
        "ttft": _rate(_TTFT, "sum", matchers, window_s),
        "requests": _rate(_TTFT, "count", matchers, window_s),
        "itl": _rate(_ITL, "sum", matchers, window_s),
        "tokens": _rate(_ITL, "count", matchers, window_s),
    }


def _rate(name: str, part: Part, matchers: str, window_s: float) -> str:
    entry = describe(name)
    assert entry is not None, name
    raw = dict.fromkeys(one for style in STYLES for one in page_names(entry, part, style))
    return f"sum by (instance) ({' or '.join(f'rate({one}{{{matchers}}}[{window_s:.0f}s])' for one in raw)})"


def _beyond(name: str, bound: float, matchers: str, window_s: float) -> str:
    """How many a second took longer than ``bound``; nothing where no bucket ends there."""
    under = ",".join(filter(None, (matchers, f'le="{bound:g}"')))
    return f"{_rate(name, 'count', matchers, window_s)} - {_rate(name, 'bucket', under, window_s)}"


def _by_rules(matchers: str, step_s: float) -> dict[str, str]:
    def mean(id: str) -> str:
        return f"avg_over_time({RECORDED[id]}{{{matchers}}}[{step_s:.0f}s])"

    return {
        "ttft": f"sum by (instance) ({mean('ttft')} * {mean('requests')})",
        "requests": f"sum by (instance) ({mean('requests')})",
        "itl": f"sum by (instance) ({mean('itl')} * {mean('tokens')})",
        "tokens": f"sum by (instance) ({mean('tokens')})",
    }


def _narrowed(matchers: str, names: Sequence[str]) -> str:
    """The matchers for these instances alone: a Prometheus has an ``up`` of whatever it scrapes."""
    if len(names) > _MOST_NAMED:
        return matchers
    quoted = "|".join(re.escape(name).replace("\\", "\\\\").replace('"', '\\"') for name in names)
    return ",".join(filter(None, (matchers, f'instance=~"{quoted}"')))


def _up(matchers: str, window_s: float) -> str:
    return f"avg by (instance) (avg_over_time(up{{{matchers}}}[{window_s:.0f}s]))"


# -- choosing


def _aligned(curves: dict[str, Curve], name: str, times: Floats, step_s: float) -> dict[str, Floats]:
    """The curves of one engine at all steps, NaN where it has none."""
    found = {}
    for id, curve in curves.items():
        t, values = curve.get(name, (np.zeros(0), np.zeros(0)))
        found[id] = np.full(len(times), np.nan)
        # Clipped before it is a whole number: what another program answers may be any number.
        place = np.clip(np.rint((t - times[0]) / step_s), -1, len(times)).astype(np.int64)
        inside = (place >= 0) & (place < len(times))
        found[id][place[inside]] = values[inside]
    return found


def _episodes(times: Floats, of: dict[str, Floats], step_s: float) -> tuple[Episode, ...]:
    """Runs of steps in which requests lost something; a step between two such is one of them."""
    lost = _lost_per_s(of, step_s)
    bad: Chosen = lost > 0
    bad[1:-1] |= bad[:-2] & bad[2:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(np.int8)))
    runs = zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True)
    found = [Episode(float(times[a]) - step_s, float(times[b - 1]), float(lost[a:b].sum()) * step_s) for a, b in runs]
    return tuple(sorted(found, key=lambda episode: -episode.lost_s))


def _lost_per_s(of: dict[str, Floats], step_s: float) -> Floats:
    """Request-seconds lost a second: waits to the first token and late tokens over what is felt, and requests that found
    nobody. What is usual is the median of the engine's own steps."""
    requests, tokens = np.nan_to_num(of["requests"]), np.nan_to_num(of["tokens"])
    ttft = _over(of["ttft"], of["requests"], FELT_TTFT_S) * requests
    itl = _over(of["itl"], of["tokens"], 0.0) * tokens
    away = np.nan_to_num(1.0 - of["up"]) * AWAY_S * _usual(of["requests"])
    # The same seconds are seen in the mean, if it moves, and in what lies over the bound.
    found: Floats = np.maximum(ttft, _more(of["waits"], step_s) * LONG_WAIT_S)
    found += np.maximum(itl, _more(of["gaps"], step_s) * GAP_S)
    found += away
    return found


def _more(rate: Floats, step_s: float) -> Floats:
    """By how much each step's rate is over the usual one, 0 where that may be chance: a count varies by its root."""
    usual = _usual(rate)
    over = np.nan_to_num(rate - usual)
    chance = FEW + 3.0 * np.sqrt(max(usual, 0.0) * step_s)
    found: Floats = np.where(over * step_s > chance, over, 0.0)
    return found


def _over(sums: Floats, counts: Floats, felt: float) -> Floats:
    """By how much each step's mean is over what is felt or a quarter over the usual one, whichever is more."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(counts > 0, sums / counts, np.nan)
    bound = max(felt, SLOWER * _usual(mean))
    over: Floats = np.nan_to_num(mean - bound)
    return np.maximum(over, 0.0) if bound > 0 else np.zeros(len(mean))


def _usual(values: Floats) -> float:
    seen = values[np.isfinite(values)]
    return float(np.median(seen)) if len(seen) else 0.0


def episodes_in(found: Iterable[Episode], count: int) -> list[Episode]:
    """The first ``count``, in order of time."""
    return sorted(list(found)[:count], key=lambda episode: episode.begin)
