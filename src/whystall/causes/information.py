"""What to look at next when two causes are left: the value of a signal over what it costs to get (method.md 2.5)."""

from __future__ import annotations

import math
from typing import NamedTuple

from whystall.model.text import Text

from .entry import CauseEntry
from .posterior import family

# What getting a signal costs beside a scrape: a flag or a file 1, ten seconds of py-spy 3, a profiled step 5, a restart 20.
COST = {
    "metrics": 0.0,
    "config": 1.0,
    "log": 1.0,
    "client": 1.0,
    "gpu": 1.0,
    "host": 1.0,
    "trace": 5.0,
    "spans": 20.0,
}
PY_SPY_COST = 3.0
PY_SPY = Text(
    "py-spy record -d 10 -f speedscope -o loop.json --pid PID of the process that is in doubt, then whystall trace loop.json",
    "对存疑的进程运行 py-spy record -d 10 -f speedscope -o loop.json --pid PID，然后运行 whystall trace loop.json",
)
# A decided signal moves the odds of two causes by about as much as a usual weight at full strength.
USUAL_WEIGHT = 2.0
# Where the other cause is the true one, this one's evidence is absent: half as telling as its presence.
ABSENT = 0.5
# Which signal a family of evidence is read from; what is not here comes from the metrics page.
_FROM = {
    "gpu": "gpu",
    "client": "client",
    "log": "log",
    "config": "config",
    "trace": "trace",
    "cpu": "host",
    "engine": "host",
}


class Doubt(NamedTuple):
    """The two best causes and their probabilities; ``second`` is None where only one is left."""

    first: CauseEntry
    probability: float
    second: CauseEntry | None = None
    second_probability: float = 0.0


def signal_of(evidence_id: str) -> str:
    """The signal that a piece of evidence is read from."""
    return _FROM.get(family(evidence_id), "metrics")


def worth(signal: str, doubt: Doubt, seen: frozenset[str]) -> float:
    """Nats of entropy that ``signal`` is expected to take from ``doubt``, for each unit of cost (a scrape costs one).

    ``H(P) - E H(P | z)``, where ``z`` is what each of the two causes predicts for the evidence that was not ``seen``.
    """
    a, b = doubt.first, doubt.second
    p = min(max(_share(doubt), 0.01), 0.99)
    start = math.log(p / (1 - p))
    if_first = p * _entropy(_odds(start + _moved(signal, a, b, seen)))
    if_second = (1 - p) * _entropy(_odds(start - _moved(signal, b, a, seen)))
    return (_entropy(p) - if_first - if_second) / (1.0 + cost(signal, doubt))


def cost(signal: str, doubt: Doubt) -> float:
    """What ``signal`` costs; a process in doubt needs no profiler, its own thread says what it does."""
    return PY_SPY_COST if signal == "trace" and of_a_process(doubt) else COST[signal]


def of_a_process(doubt: Doubt) -> bool:
    """Whether all that a trace would decide between are processes on the host."""
    named = [cause for cause in (doubt.first, doubt.second) if cause is not None and "trace" in cause.settled_by]
    return bool(named) and all("host" in cause.settled_by for cause in named)


def _share(doubt: Doubt) -> float:
    if doubt.second is None:
        return doubt.probability
    both = doubt.probability + doubt.second_probability
    return doubt.probability / both if both else 0.5


def _moved(signal: str, true: CauseEntry | None, other: CauseEntry | None, seen: frozenset[str]) -> float:
    """How far ``signal`` moves the log odds of ``true`` against ``other``, where ``true`` is."""
    mine, others = _unseen(signal, true, seen), _unseen(signal, other, seen)
    total = 0.0
    for name in mine.keys() | others.keys():
        here, there = mine.get(name, 0.0), others.get(name, 0.0)
        expected = 1.0 if here > 0 else -ABSENT if there > 0 else 0.0
        total += expected * (here - there)
    return max(total if _read_from(signal, true, other) else _by_name(signal, true, other), 0.0)


def _read_from(signal: str, *causes: CauseEntry | None) -> bool:
    """Whether some evidence of the causes is read from ``signal``."""
    return any(signal_of(name) == signal for cause in causes if cause is not None for name in cause.weights)


def _by_name(signal: str, *causes: CauseEntry | None) -> float:
    """Where no evidence is: what their files say of the signal."""
    return USUAL_WEIGHT if any(c is not None and signal in c.settled_by for c in causes) else 0.0


def _unseen(signal: str, cause: CauseEntry | None, seen: frozenset[str]) -> dict[str, float]:
    weights = cause.weights if cause is not None else {}
    return {name: weight for name, weight in weights.items() if name not in seen and signal_of(name) == signal}


def _odds(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(min(log_odds, 30.0), -30.0)))


def _entropy(p: float) -> float:
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)
