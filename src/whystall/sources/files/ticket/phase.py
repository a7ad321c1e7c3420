"""The figures of one case completed by the laws that hold between them: what a server's pages would have shown."""

from __future__ import annotations

import math

import msgspec

from .figure import Figure
from .statements import Values

_STEADY_S = 45.0  # a case whose length is not stated is shown for that long
_LONGEST_S = 600.0
_TOTALS = 5.0  # lengths that are so many times what the rates allow are totals over all requests
_QUEUES = 1.05  # requests that come so many times as fast as they are served queue up
_LATE_S = 1.0  # clients that wait that long for a first token are not all decoding
_NAN = float("nan")


class Span(msgspec.Struct, frozen=True):
    """A gauge from its first to its last value in the phase; NaN where nothing was stated."""

    first: float = _NAN
    last: float = _NAN

    def at(self, share: float) -> float:
        return self.first + (self.last - self.first) * share

    @property
    def known(self) -> bool:
        return math.isfinite(self.first)

    @property
    def middle(self) -> float:
        return (self.first + self.last) / 2


class Phase(msgspec.Struct, frozen=True):
    """A stretch of a recording. Rates a second, times in seconds; NaN and empty where the ticket says nothing.

    ``itl`` and ``ttft`` are mixtures: (share, seconds). ``still``: nothing advances.
    """

    seconds: float
    running: Span = Span()
    waiting: Span = Span()
    kv: Span = Span()
    generation: Span = Span()  # tokens a second
    prompts: float = _NAN  # prompt tokens a second
    rate: float = _NAN  # requests that get a first token, a second
    prompt: float = _NAN
    output: float = _NAN
    hit: float = _NAN
    itl: tuple[tuple[float, float], ...] = ()
    ttft: tuple[tuple[float, float], ...] = ()
    e2e: float = _NAN
    queue: float = _NAN
    preemptions: float = _NAN
    errors: float = _NAN
    accepted: float = _NAN
    drafted: float = _NAN
    still: bool = False

    @property
    def enough(self) -> bool:
        """Whether it says how many requests were inside and what came of them."""
        return self.running.known and (self.generation.known or math.isfinite(self.rate) or self.still)


def phase_of(stated: Values, seats: float = _NAN, *, seconds: float | None = None) -> Phase:
    """The phase of one case. ``seats``: how many requests the server may run, where that is known."""
    values = _per_request(stated)
    length = seconds or _length(values)
    flight, rate = _span(values, "in_flight"), _rate(values)
    itl = _mixture(values, "itl") or _mixture(values, "tpot")
    running = _running(values, flight, rate, itl, seats)
    generation = _generation(values, rate, running, itl)
    if not itl and generation.middle > 0 and _all_decode(values, running):
        itl = ((1.0, running.middle / generation.middle),)  # each running request gets one token a step
    if _middle(values, "output") <= 1:
        itl = ()  # a single token has none after it
    waiting = _waiting(values, flight, running, rate, length)
    rate = rate if math.isfinite(rate) else _admitted(values, generation)
    return Phase(
        seconds=length,
        running=running,
        waiting=waiting,
        kv=_span(values, "kv_usage"),
        generation=generation,
        prompts=_prompts(values, rate),
        rate=rate,
        prompt=_middle(values, "prompt"),
        output=_middle(values, "output"),
        hit=_middle(values, "hit_ratio"),
        itl=itl,
        ttft=_mixture(values, "ttft"),
        e2e=_first(values, "e2e"),
        queue=_first(values, "queue"),
        preemptions=_preempted(values, length),
        errors=_errors(values, rate, length),
        accepted=_middle(values, "accepted") / length,
        drafted=_middle(values, "drafted") / length,
        still=generation.known and generation.first == generation.last == 0 and running.middle > 0,
    )


def _per_request(values: Values) -> Values:
    """Lengths of a request where totals over all requests are stated under the same or another name."""
    found = dict(values)
    requests = _middle(values, "requests")
    for name, total in (("prompt", "prompt_total"), ("output", "output_total")):
        if total in values and requests > 0:
            found.setdefault(name, values[total].scaled(1 / requests))
    rate, speed = _first(values, "rate"), _first(values, "generation_tps")
    times = _middle(found, "output") * rate / speed if speed > 0 else _NAN
    if requests > 0 and times > _TOTALS and 0.5 < times / requests < 2:
        for name in ("prompt", "output"):
            if name in found:
                found[name] = found[name].scaled(1 / requests)
    return found


def _length(values: Values) -> float:
    stated = _first(values, "duration")
    return min(max(stated, 10.0), _LONGEST_S) if math.isfinite(stated) else _STEADY_S


def _rate(values: Values) -> float:
    """Requests that were served a second."""
    stated = _first(values, "rate")
    if math.isfinite(stated):
        return stated
    computed = 1 - _middle(values, "hit_ratio") if _middle(values, "hit_ratio") < 1 else 1.0
    for over, under, share in (
        ("requests", "duration", 1.0),
        ("prompt_tps", "prompt", computed),
        ("in_flight", "e2e", 1.0),
    ):
        found = _first(values, over) / (_first(values, under) * share) if _first(values, under) > 0 else _NAN
        if math.isfinite(found):
            return found
    offered = _first(values, "offered_rate")
    return offered if math.isfinite(offered) and "in_flight" not in values else _NAN


def _all_decode(values: Values, running: Span) -> bool:
    """Whether those that run are known by number and hardly wait for a first token: then tokens tell their pace."""
    if "running" in values or "batch" in values:
        return running.known
    few = not (_first(values, "ttft") > _LATE_S) and "offered_rate" not in values and "rate" not in values
    return running.known and few


def _admitted(values: Values, generation: Span) -> float:
    output = _middle(values, "output")
    return generation.middle / output if generation.known and output > 0 else _NAN


def _running(values: Values, flight: Span, rate: float, itl: tuple[tuple[float, float], ...], seats: float) -> Span:
    """Stated; else those in flight up to the seats; else tokens a second times the time for one (Little's law)."""
    stated = _span(values, "running")
    if stated.known:
        return stated
    batch, speed, mean = _span(values, "batch"), _first(values, "generation_tps"), _mean(itl)
    by_law = Span(speed * mean, speed * mean) if speed > 0 and mean > 0 else Span()
    crowd = flight if flight.known else batch
    queues = _last(values, "offered_rate") > _QUEUES * rate  # then most of those in flight wait
    if crowd.known and not queues:
        most = min(crowd.last, seats) if math.isfinite(seats) else crowd.last
        seen = min(by_law.first, most) if by_law.known and not math.isfinite(seats) else most
        return Span(seen, seen)
    if by_law.known:
        return by_law
    lasting = _first(values, "e2e")
    if rate > 0 and lasting > 0:
        return Span(rate * lasting, rate * lasting)
    # Tokens come, prompts are computed or requests served, so somebody runs.
    somebody = speed > 0 or _first(values, "prompt_tps") > 0 or rate > 0 or mean > 0
    many = queues or rate > 0
    return Span(1.0, 2.0 if many else 1.0) if somebody else Span()  # not flat, where it is no limit


def _generation(values: Values, rate: float, running: Span, itl: tuple[tuple[float, float], ...]) -> Span:
    stated = _span(values, "generation_tps")
    if stated.known:
        return stated
    by_rate = rate * _middle(values, "output")
    if math.isfinite(by_rate):
        return Span(by_rate, by_rate)
    mean = _mean(itl)
    if running.known and running.first == running.last == 0:
        return Span(0.0, 0.0)  # nobody runs, so no token comes
    return Span(running.first / mean, running.last / mean) if running.known and mean > 0 else Span()


def _waiting(values: Values, flight: Span, running: Span, rate: float, seconds: float) -> Span:
    """Stated; else those in flight that do not run; else what comes and is not served, which queues up."""
    stated = _span(values, "waiting")
    if stated.known:
        return stated
    offered = _last(values, "offered_rate")
    if flight.known and running.known and "running" not in values and "offered_rate" not in values:
        left = max(flight.last - running.last, 0.0)
        return Span(left, left)
    if offered > _QUEUES * rate and running.known:
        most = flight.last if flight.known else math.inf
        grown = min((offered - rate) * seconds, max(most - running.last, 0.0))
        return Span(0.0, grown)
    if flight.known and "running" in values:
        left = max(flight.last - running.last, 0.0)
        return Span(left, left)
    return Span()


def _prompts(values: Values, rate: float) -> float:
    stated, hit = _first(values, "prompt_tps"), _middle(values, "hit_ratio")
    if math.isfinite(stated):  # what was computed; the counter has what the cache gave too
        return stated / (1 - hit) if 0 < hit < 1 else stated
    total, speed = _first(values, "total_tps"), _first(values, "generation_tps")
    return total - speed if math.isfinite(total - speed) else rate * _middle(values, "prompt")


def _preempted(values: Values, seconds: float) -> float:
    """Preemptions a second."""
    rate = _middle(values, "preemption_rate")
    return rate if math.isfinite(rate) else _middle(values, "preemptions") / seconds


def _errors(values: Values, rate: float, seconds: float) -> float:
    """Refused or failed requests a second."""
    served, failed = _middle(values, "success_ratio"), _middle(values, "fail_ratio")
    share = failed if math.isfinite(failed) else 1 - served
    if math.isfinite(share) and 0 <= share < 1:
        return rate * share / (1 - share)
    return _middle(values, "errors") / seconds


def _mixture(values: Values, name: str) -> tuple[tuple[float, float], ...]:
    """Shares of usual and of late values that have the stated median, mean and tail; () where none is stated."""
    usual = _middle(values, f"{name}.p50")
    mean = next((m for s in ("", ".mean") if math.isfinite(m := _middle(values, name + s))), _NAN)
    tail = next((t for s in (".max", ".p99", ".p95", ".p90") if math.isfinite(t := _middle(values, name + s))), _NAN)
    if not math.isfinite(usual):
        usual = mean if math.isfinite(mean) else tail
    if not usual > 0:
        return ()
    late = tail if tail > max(usual, mean if math.isfinite(mean) else 0.0) else _NAN
    if mean > usual and not math.isfinite(late):
        late = 4 * mean
    if not late > usual:
        return ((1.0, usual),)
    share = (mean - usual) / (late - usual) if mean > usual else 0.02
    return ((1 - share, usual), (share, late))


def _mean(mixture: tuple[tuple[float, float], ...]) -> float:
    return sum(share * value for share, value in mixture) if mixture else _NAN


def _stated(values: Values, name: str) -> Figure | None:
    return next((values[name + s] for s in ("", ".mean", ".p50", ".max", ".p95", ".p99") if name + s in values), None)


def _first(values: Values, name: str) -> float:
    """The figure of a quantity, its mean or median before its tail."""
    found = _stated(values, name)
    return found.middle if found else _NAN


def _last(values: Values, name: str) -> float:
    found = _stated(values, name)
    return found.high if found else _NAN


def _middle(values: Values, slot: str) -> float:
    return values[slot].middle if slot in values else _NAN


def _span(values: Values, name: str) -> Span:
    found = _stated(values, name)
    return Span(found.low, found.high) if found else Span()
