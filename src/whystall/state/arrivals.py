"""The load that a server got, rebuilt from its counters: when requests came, how long they were, what they shared.

Arrivals of an interval are its finishes plus the change of running + waiting (method.md, identity I4), and those that
were refused, whose lengths nobody saw: they are taken to be like the others. Where that sum
stands still while work goes on, the clients wait for their answers and the load is a closed loop of that size.
Lengths come in the order of first tokens, which under first come first served is the order of arrival.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.workload import Arrival, LengthClass, Load, Phase
from whystall.errors import TooLittleData
from whystall.model.recording import SeriesTable

from .counters import increases
from .outputs import Seen, lengths_ended, outputs_by_birth
from .series import split_engines

Floats = NDArray[np.float64]
_GAPS = "inter_token_latency_seconds"
_FEW_ENDED = 20
_SAME = 0.03  # a closed loop's size wavers by who is between two requests at the moment of a scrape
_LEAST_PLATEAU = 5  # scrapes
_RECENT = 30
_FEW_INTERVALS = 5  # with finishes, beyond one a class
_EVEN = 0.55  # an even spread of more would reach below 0
_WIDEST = 2.0  # of real traces; more is one odd sum
_EXPLAINED = 0.05  # lengths are classes where their means explain the sums to 5%


class Totals(Protocol):
    """Cumulative counters and buckets by quantity, as :class:`~whystall.state.series.EngineSeries` has them."""

    def total(self, name: str, part: str = "value") -> Floats: ...

    def buckets(self, name: str) -> tuple[Floats, Floats]: ...


class Kind(msgspec.Struct, frozen=True):
    """The lengths of one request in tokens, and how many of its first ones others have too."""

    prompt: int
    output: int
    shared: int = 0


class Segment(msgspec.Struct, frozen=True):
    """A stretch of the load: a closed loop of ``clients`` (0: none), or ``arrivals`` at seconds after ``start``."""

    start: float
    seconds: float
    clients: int
    arrivals: tuple[Arrival, ...]
    kinds: tuple[Kind, ...]


def rebuild_load(table: SeriesTable, *, seed: int = 1) -> list[Segment]:
    """The load of the first engine of ``table``, from its first scrape on. Raises TooLittleData."""
    engines = split_engines(table)
    if not engines or len(table.times) < 3:
        raise TooLittleData("the recording has too few scrapes to rebuild its load", "record a minute under load")
    series, times = engines[0], table.times - table.times[0]
    inside = np.nan_to_num(series.total("num_requests_running") + series.total("num_requests_waiting"))
    finished = np.nan_to_num(increases(series.total("request_success")))
    came = np.maximum(np.round(finished + np.diff(inside)), 0).astype(int)
    refused = np.nan_to_num(increases(series.total("admission_rejections"))).astype(int)
    rng = random.Random(seed)
    kinds = kinds_in(series, rng, times)
    if not kinds:
        raise TooLittleData("no request got a first token in the recording", "record while requests are served")
    return _segments(times, inside, came, refused, kinds, rng)


def play_load(engine: Engine, segments: list[Segment], *, seed: int = 1) -> None:
    """Send the rebuilt load to ``engine`` and run it to the end of the last segment."""
    load = Load(seed)
    for segment in segments:
        if segment.clients:
            mix = tuple(
                LengthClass(1.0, (k.prompt, k.prompt), (k.output, k.output), shared_prefix=k.shared)
                for k in segment.kinds
            )
            load.play(engine, [Phase(seconds=segment.seconds, mix=mix, clients=segment.clients)])
        else:
            load.trace(engine, segment.arrivals, 0.0)
            engine.advance(segment.start + segment.seconds)


def _segments(
    times: Floats,
    inside: Floats,
    came: NDArray[np.int64],
    refused: NDArray[np.int64],
    kinds: list[Kind],
    rng: random.Random,
) -> list[Segment]:
    # What stands still because the rest is refused is no closed loop.
    plateaus = [(a, b, size) for a, b, size in plateaus_in(inside, came) if not refused[a:b].any()]
    edges = sorted({0, len(came), *(i for a, b, _ in plateaus for i in (a, b))})
    sizes = {a: size for a, _, size in plateaus}
    segments: list[Segment] = []
    used = 0
    for first, last in pairwise(edges):
        clients = sizes.get(first, 0)
        number = int(came[first:last].sum())
        recent = kinds[-max(_RECENT, len(kinds[used:]) // 4) :]  # who had no first token yet is like the last who had
        own = [kinds[i] if i < len(kinds) else rng.choice(recent) for i in range(used, used + number)]
        arrivals: list[Arrival] = []
        for i in range(first, last) if not clients else ():
            moments = sorted(rng.uniform(times[i], times[i + 1]) for _ in range(came[i]))
            arrivals += [arrival_of(t, own[len(arrivals) + k]) for k, t in enumerate(moments)]
        if refused[first:last].any() and not clients:
            arrivals = sorted([*arrivals, *_refused(times, refused, first, last, own or recent, rng)], key=_moment)
        if last in sizes and arrivals:
            # Who is still inside when the loop begins is one of its clients, and comes with them.
            arrivals = arrivals[: max(len(arrivals) - int(inside[last]), 0)]
        used += number
        start, seconds = float(times[first]), float(times[last] - times[first])
        segments.append(Segment(start, seconds, clients, tuple(arrivals), tuple(own) or (kinds[-1],)))
    return segments


def _refused(
    times: Floats, refused: NDArray[np.int64], first: int, last: int, like: list[Kind], rng: random.Random
) -> list[Arrival]:
    return [
        arrival_of(rng.uniform(times[i], times[i + 1]), rng.choice(like))
        for i in range(first, last)
        for _ in range(refused[i])
    ]


def _moment(arrival: Arrival) -> float:
    return arrival.t


def arrival_of(t: float, kind: Kind) -> Arrival:
    """A request of these lengths that comes at second ``t``; all that share a prefix share the same one."""
    prefix = "shared" if kind.shared else ""
    return Arrival(t, kind.prompt, kind.output, prefix=prefix, prefix_tokens=kind.shared)


def plateaus_in(inside: Floats, came: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Stretches of intervals (first, last, size) in which as many requests come as finish, from the first arrival."""
    found: list[tuple[int, int, int]] = []
    start = 0
    while start < len(came):
        size = inside[start + 1]
        stop = start
        misses = 0
        while stop < len(came) and misses <= 2:
            near = abs(inside[stop + 1] - size) <= max(1.0 if size < 4 else 0.0, _SAME * size)
            misses = 0 if near else misses + 1
            stop += 1
        stop -= misses
        window = inside[start + 1 : stop + 1]
        enough = came[start + 1 : stop].sum() >= max(2 * size, 8)  # each client had more than one turn
        most = float(np.max(window, initial=0.0))
        flat = np.mean(window >= most - int(_SAME * most)) > 0.5 if len(window) else False
        if stop - start >= _LEAST_PLATEAU and enough and flat:
            found.append((start, stop, round(most)))
            start = stop
        else:
            start += 1
    return found


def kinds_in(
    series: Totals,
    rng: random.Random,
    times: Floats | None = None,
    spreads: tuple[float, float] | None = None,
    waited: NDArray[np.bool_] | None = None,
) -> list[Kind]:
    """The lengths of the requests in the order of their first tokens.

    With ``times``, answers that are of one class have the lengths that they have or will have where they begin
    (:mod:`.outputs`); without, their mean over all of the window. ``spreads`` of prompts and answers within their class are
    those of the window where they are not given. ``waited``: intervals that began with a queue; the longest prompt of their
    first tokens stood at its head, for the others would have fitted where it did not.
    """
    first = np.nan_to_num(increases(series.total("time_to_first_token_seconds", "count"))).astype(int)
    prompts = np.nan_to_num(increases(series.total("prompt_tokens")))
    cached = np.nan_to_num(increases(series.total("prompt_tokens_cached")))
    lengths, outputs = _classes(series)
    if spreads is None:
        spreads = spread_of(series, "request_prompt_tokens"), spread_of(series, "request_generation_tokens")
    vary = _Varied(rng, *spreads)
    born = _outputs(series, first, times, rng) if times is not None and len(lengths) < 2 else None
    kinds: list[Kind] = []
    for place, (n, tokens, hits) in enumerate(zip(first, prompts, cached, strict=True)):
        if n <= 0:
            continue
        shared = int(hits / n) if hits > 0.05 * tokens else 0
        own = [vary.kind(p, o, shared) for p, o in _split(n, tokens, lengths, outputs)]
        if born is not None:
            own = [msgspec.structs.replace(kind, output=o) for kind, o in zip(own, born[place], strict=True)]
        rng.shuffle(own)
        if waited is not None and waited[place]:
            own.insert(0, own.pop(max(range(len(own)), key=lambda i: own[i].prompt)))
        kinds += own
    return kinds


def _outputs(series: Totals, first: NDArray[np.int64], times: Floats, rng: random.Random) -> list[list[int]] | None:
    """The answers' lengths by the interval of their first token; None where too few ended."""
    bounds, _ = series.buckets("request_generation_tokens")
    counts, sums = _histogram(series, "request_generation_tokens")
    finite = bounds[np.isfinite(bounds)]
    if not len(finite) or counts.sum() < _FEW_ENDED:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = increases(series.total(_GAPS, "sum")) / increases(series.total(_GAPS, "count"))
    ended = lengths_ended(counts, sums, finite, rng)
    usual = float(sums.sum() / counts.sum())
    running = int(np.nan_to_num(series.total("num_requests_running")[-1]))
    seen = Seen(np.maximum(first, 0), gap, np.diff(times), ended, running)
    return outputs_by_birth(seen, max(usual, 1.0), rng)


class _Varied:
    """Lengths around the mean of their class. Requests of one length end in step, and those of many do not."""

    def __init__(self, rng: random.Random, prompts: float, outputs: float) -> None:
        self.rng = rng
        self.prompts = prompts
        self.outputs = outputs

    def kind(self, prompt: int, output: int, shared: int) -> Kind:
        varied = max(round(prompt * self._factor(self.prompts)), 1)
        return Kind(varied, max(round(output * self._factor(self.outputs)), 1), min(shared, varied - 1))

    def _factor(self, ratio: float) -> float:
        """A factor of mean 1 with ``ratio`` for its standard deviation: even while that keeps it above 0, else skewed."""
        if ratio <= 0:
            return 1.0
        if ratio < _EVEN:
            return 1.0 + self.rng.uniform(-1.0, 1.0) * ratio * math.sqrt(3.0)
        deviation = math.sqrt(math.log1p(ratio**2))
        return self.rng.lognormvariate(-(deviation**2) / 2, deviation)


def spread_of(series: Totals, name: str) -> float:
    """Standard deviation over mean of a length within its class, from how much the sums of intervals waver about what
    the classes' means explain: the variance of a sum of ``n`` is ``n`` times that of one. 0 where too few ended."""
    counts, sums = _histogram(series, name)
    total = counts.sum()
    groups = _groups(counts) if total else counts
    ended = groups.sum(axis=1)
    rows = ended > 0
    free = rows.sum() - groups.shape[1]
    if not total or free < _FEW_INTERVALS:
        return 0.0
    rest = sums[rows] - groups[rows] @ _solve(groups, sums)
    variance = float((rest**2 / ended[rows]).sum() / free)
    return min(math.sqrt(variance) / float(sums.sum() / total), _WIDEST)


def spread_within(series: Totals, name: str, part: slice) -> float:
    """:func:`spread_of` in the intervals of ``part``, from one to the next: a mean that moves on the way is no spread."""
    counts, sums = _histogram(series, name)
    if not counts.sum():
        return 0.0
    groups = _groups(counts)
    rest = (sums - groups @ _solve(groups, sums))[part]
    ended = groups.sum(axis=1)[part]
    rest, ended, total = rest[ended > 0], ended[ended > 0], sums[part].sum()
    if len(ended) < _FEW_INTERVALS:
        return spread_of(series, name)
    steps = np.diff(rest / ended) ** 2 / (1 / ended[1:] + 1 / ended[:-1])
    return min(math.sqrt(float(steps.mean())) / float(total / ended.sum()), _WIDEST) if total > 0 else 0.0


def classes_of(series: Totals) -> int:
    """How many classes of prompts there are; 1 where the buckets tell none apart."""
    return max(len(_classes(series)[0]), 1)


def _split(n: int, tokens: float, lengths: Floats, outputs: Floats) -> list[tuple[int, int]]:
    """``n`` requests of the known classes whose prompts add up to ``tokens``: the nearest two classes around the mean."""
    mean = tokens / n
    if len(lengths) < 2:
        return [(max(round(mean), 1), max(round(float(outputs[0])), 1))] * n
    above = int(np.clip(np.searchsorted(lengths, mean), 1, len(lengths) - 1))
    low, high = above - 1, above
    many = round((tokens - n * lengths[low]) / (lengths[high] - lengths[low]))
    many = min(max(many, 0), n)
    picked = [high] * many + [low] * (n - many)
    return [(max(round(float(lengths[c])), 1), max(round(float(outputs[c])), 1)) for c in picked]


def _classes(series: Totals) -> tuple[Floats, Floats]:
    """Mean prompt and output length of each class of prompts; a single class where the buckets tell none apart."""
    prompt_counts, prompt_sum = _histogram(series, "request_prompt_tokens")
    _, output_sum = _histogram(series, "request_generation_tokens")
    total = prompt_counts.sum()
    if not total:
        return np.zeros(0), np.ones(1)
    counts = _groups(prompt_counts)
    lengths, outputs = _solve(counts, prompt_sum), _solve(counts, output_sum)
    explained = np.abs(counts @ lengths - prompt_sum).sum() <= _EXPLAINED * prompt_sum.sum()
    if counts.shape[1] < 2 or not explained or (lengths <= 0).any():
        return np.zeros(0), np.asarray([output_sum.sum() / total])
    # Short answers of a few drown in how the long ones of many waver: below zero they are short.
    return lengths, np.maximum(outputs, 1.0)


def _groups(counts: Floats) -> Floats:
    """Columns of neighbouring buckets that are used, added up: lengths that differ little are one class."""
    used = counts.sum(axis=0) > 0.02 * counts.sum()
    starts = np.flatnonzero(used & ~np.concatenate([[False], used[:-1]]))
    stops = np.flatnonzero(used & ~np.concatenate([used[1:], [False]]))
    return np.stack([counts[:, a : b + 1].sum(axis=1) for a, b in zip(starts, stops, strict=True)], axis=1)


def _histogram(series: Totals, name: str) -> tuple[Floats, Floats]:
    _, cumulative = series.buckets(name)
    counts = np.diff(np.concatenate([np.zeros((1, cumulative.shape[1])), cumulative]), axis=0)
    by_interval = np.stack([np.nan_to_num(increases(row)) for row in counts], axis=1)
    return by_interval, np.nan_to_num(increases(series.total(name, "sum")))


def _solve(counts: Floats, sums: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(counts, sums, rcond=None)[0], dtype=np.float64)
