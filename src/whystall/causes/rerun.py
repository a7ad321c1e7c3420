"""A healthy load and an incident's, played on the emulated engine with features of the one put into the other."""

from __future__ import annotations

import math
import random
from collections.abc import Collection

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.figures import RunFigures, figures_of
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import Arrival, LengthClass, Load, Phase
from whystall.evidence.thresholds import level
from whystall.model.engine_state import EngineState
from whystall.state.arrivals import Kind, arrival_of
from whystall.state.demand import Demand

LOAD = frozenset(("arrivals", "prompts", "outputs", "sharing"))
LIMITS = frozenset(("blocks", "seats", "budget", "queue"))
_WARM_S = 20.0  # the healthy load before it, so that the engine is in its stride
_LONGEST_S = 120.0
_LIFTED = 16  # a limit so many times as high binds nothing that it bound before
_PLENTY = 1_000_000  # blocks where nothing tells how many there are
_KINDS = 200  # requests of a closed loop's mix
Floats = NDArray[np.float64]
_Played = tuple[Phase | list[Arrival], float]
_FEW = 0.25  # of the requests


class Bench:
    """What runs are made of: the healthy load and the incident's, the server's options and its step time.

    ``lead_s`` seconds of the incident's load came before it hurt: they are played and not measured; the server was looked
    at every ``every_s``. A run that was made is not made again: causes share the healthy one and the whole incident.
    """

    def __init__(
        self,
        healthy: Demand,
        incident: Demand,
        options: EngineOptions,
        profile: StepProfile,
        *,
        lead_s: float = 0.0,
        every_s: float = 1.0,
    ) -> None:
        self.lead_s = lead_s
        self.every_s = every_s
        self.healthy = healthy
        self.incident = incident
        self.options = options
        self.profile = profile
        self.giants = _giants(healthy, incident)
        self._made: dict[tuple[object, ...], RunFigures] = {}

    def on(self, profile: StepProfile) -> Bench:
        """The same loads and options on a machine of other step times."""
        return Bench(self.healthy, self.incident, self.options, profile, lead_s=self.lead_s, every_s=self.every_s)

    def run(
        self,
        spoilt: Collection[str] = (),
        *,
        lifted: Collection[str] = (),
        slowed: StepProfile | None = None,
        quick: bool = False,
    ) -> RunFigures:
        """The figures of the incident's time, the mean ITL as :func:`paced_mean`.

        ``spoilt``: the load's features that are the incident's (:data:`LOAD`, ``giants`` alone of its prompts, its
        ``bursts`` at the healthy rate, its number of arrivals ``even``); ``lifted``: the limits that are out of the way;
        ``slowed``: with that step time instead of the profile's; ``quick``: with prefill at next to no cost.
        """
        key = (frozenset(spoilt), frozenset(lifted), slowed, quick)
        if key not in self._made:
            self._made[key] = self._run(frozenset(spoilt), lifted, slowed or self.profile, quick)
        return self._made[key]

    def _run(self, spoilt: frozenset[str], lifted: Collection[str], profile: StepProfile, quick: bool) -> RunFigures:
        engine = Engine(_without(self.options, lifted), _quick(profile) if quick else profile)
        load = Load(1)
        _play(engine, load, _mixed(self, frozenset(), min(_WARM_S, self.healthy.seconds)))
        start = engine.now
        seconds = min(self.incident.seconds, self.lead_s + _LONGEST_S)
        _play(engine, load, _mixed(self, spoilt, seconds))
        measured = figures_of(engine, start + self.lead_s, start + seconds)
        itl = _paced_itl(engine, start + self.lead_s, start + seconds, self.every_s)
        return msgspec.structs.replace(measured, itl_mean_s=itl)


def paced_mean(sums: Floats, counts: Floats, seconds: Floats) -> float:
    """The mean of the intervals' means, by time; one without tokens is like the next, whose gaps reach back over it.

    ``sums`` and ``counts`` of gaps by interval of so many ``seconds``; NaN where there were none.
    """
    seen = np.flatnonzero(np.nan_to_num(counts) > 0)
    if not len(seen):
        return math.nan
    until = np.cumsum(seconds)[seen]
    return float(np.average(sums[seen] / counts[seen], weights=np.diff(until, prepend=0.0)))


def _paced_itl(engine: Engine, start: float, stop: float, every_s: float) -> float:
    journal = engine.journal
    times = np.concatenate((journal.columns("end"), journal.columns("odd_t")))
    gaps = np.concatenate((journal.columns("gap"), journal.columns("odd_gap")))
    counts = np.concatenate((journal.columns("regular"), np.ones(len(journal.columns("odd_t")))))
    inside = (times > start) & (times <= stop)
    at = np.floor((times[inside] - start) / every_s).astype(int)
    weights = counts[inside]
    sums, tokens = (np.bincount(at, w).astype(np.float64) for w in (weights * gaps[inside], weights))
    return paced_mean(sums, tokens, np.full(len(sums), every_s))


def options_of(state: EngineState, profile: StepProfile) -> EngineOptions:
    """The engine as the server was started, as far as that is known; what is not known is out of the way."""
    configuration = state.configuration

    def limit(name: str, otherwise: float) -> int:
        value = state.limit_value(name)
        return int(value) if math.isfinite(value) and value >= 1 else int(otherwise)

    queued = state.limit("max_num_queued_reqs")
    return EngineOptions(
        num_gpu_blocks=limit("num_gpu_blocks", profile.kv_blocks or _PLENTY),
        block_size=limit("block_size", 16),
        max_model_len=limit("max_model_len", 131072),
        max_num_seqs=limit("max_num_seqs", 1024),
        max_num_batched_tokens=limit("max_num_batched_tokens", 8192),
        max_num_queued_reqs=int(queued.value) if queued else None,
        enable_prefix_caching=configuration.prefix_caching is not False,
        enable_chunked_prefill=configuration.chunked_prefill is not False,
        async_scheduling=configuration.async_scheduling is not False and configuration.device != "cpu",
    )


def _without(options: EngineOptions, lifted: Collection[str]) -> EngineOptions:
    changes: dict[str, int | None] = {}
    if "blocks" in lifted:
        changes["num_gpu_blocks"] = options.num_gpu_blocks * _LIFTED
    if "seats" in lifted:
        changes["max_num_seqs"] = options.max_num_seqs * _LIFTED
    if "budget" in lifted:
        changes["max_num_batched_tokens"] = options.max_num_batched_tokens * _LIFTED
    if "queue" in lifted:
        changes |= {"max_num_queued_reqs": None, "max_num_queued_tokens": None}
    return msgspec.structs.replace(options, **changes)


def _quick(profile: StepProfile) -> StepProfile:
    """The same device with prefill at next to no cost: what a pool of servers for prompts alone would leave it."""
    less = 1 / _LIFTED
    return profile.scaled(pair_s=less, host_mixed_s=less, token_s=less, host_eager_s=less)


def _mixed(bench: Bench, spoilt: frozenset[str], seconds: float) -> _Played:
    """A load that has each feature from the healthy or from the incident's load."""
    source = bench.incident if spoilt & {"arrivals", "bursts", "even"} else bench.healthy
    kinds = [_kind(bench, spoilt, n) for n in range(max(len(source.times), _KINDS))]
    if source.clients and not spoilt & {"bursts", "even"}:
        mix = tuple(
            LengthClass(1.0, (k.prompt, k.prompt), (k.output, k.output), shared_prefix=k.shared, prefix="shared")
            for k in kinds[:_KINDS]
        )
        return Phase(seconds=seconds, mix=mix, clients=source.clients, cut=False), seconds
    times = _times(source, seconds)
    if "bursts" in spoilt:
        times = _at_rate(times, bench.healthy.rate, seconds)
    if "even" in spoilt:
        times = [float(t) for t in np.linspace(0.0, seconds, len(times), endpoint=False)]
    return [arrival_of(t, kinds[n % len(kinds)]) for n, t in enumerate(times)], seconds


def _times(source: Demand, seconds: float) -> list[float]:
    """The arrivals, over and over where the time is longer than they were seen for."""
    rounds = math.ceil(seconds / max(source.seconds, 1.0))
    whole = [t + k * source.seconds for k in range(rounds) for t in source.times]
    return [t for t in whole if t < seconds]


def _at_rate(times: list[float], rate: float, seconds: float) -> list[float]:
    """Some of the arrivals, who comes at one moment together, so that they come at ``rate`` and as bunched as before."""
    share = min(rate * seconds / max(len(times), 1), 1.0)
    crowds = dict.fromkeys(times)
    if (1 - share) * len(crowds) < 2 * math.sqrt(len(crowds)):
        return times  # so few crowds come as often by chance
    rng = random.Random(3)
    kept = {t for t in crowds if rng.random() < share}
    return [t for t in times if t in kept]


def _kind(bench: Bench, spoilt: frozenset[str], n: int) -> Kind:
    """The n-th request: its prompt, output and shared tokens each from the load that has that feature."""
    mine, theirs = bench.healthy.kinds, bench.incident.kinds
    own, other = mine[n % len(mine)], theirs[n % len(theirs)]
    if "giants" in spoilt and other.prompt in bench.giants:
        own = other  # with its own answer: how long a giant stays is part of what it does
    prompt = (other if "prompts" in spoilt else own).prompt
    output = (other if "outputs" in spoilt else own).output
    sharing = _sharing(theirs if "sharing" in spoilt else mine)
    return Kind(prompt, output, min(int(sharing * prompt), prompt - 1))


def _giants(healthy: Demand, incident: Demand) -> frozenset[int]:
    """The prompts that are many times the usual one, where they are few: where all are long, none stands before others."""
    usual = float(np.median([kind.prompt for kind in healthy.kinds]))
    giants = [kind.prompt for kind in incident.kinds if kind.prompt >= level("giant") * usual]
    return frozenset(giants) if len(giants) <= _FEW * len(incident.kinds) else frozenset()


def _sharing(kinds: tuple[Kind, ...]) -> float:
    """Share of the prompt tokens that others have too."""
    return sum(kind.shared for kind in kinds) / max(sum(kind.prompt for kind in kinds), 1)


def _play(engine: Engine, load: Load, what: _Played) -> None:
    demand, seconds = what
    if isinstance(demand, Phase):
        load.play(engine, [demand])
        return
    start = engine.now
    load.trace(engine, demand, start)
    engine.advance(start + seconds)
