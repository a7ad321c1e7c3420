"""What a what-if knows of the server: its options, its steps, its load, and what it measured in the window."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from whystall.emulator.engine.options import EngineOptions
from whystall.errors import TooLittleData
from whystall.model.diagnosis import Diagnosis
from whystall.model.engine_state import Bools, EngineState, HistogramDelta
from whystall.model.prediction import Metric
from whystall.model.recording import SeriesTable
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.remedies.situation import Situation, situation
from whystall.state.histograms import mean_of, quantile_of
from whystall.state.window_fit import after_restart, from_on

from .load import LoadDraw, load_draw
from .machine import Machine, machine_of

# As long a stretch as is played: what is longer ago says little of the load that a change will meet.
LONGEST_S = 60.0
# A shorter incident has too few requests for a tail: the window as a whole is compared then.
SHORTEST_S = 10.0
_USUAL = {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "max_model_len": 16384, "block_size": 16}
_STEPS_CHANGED = math.log(1.1)  # more than a fit through a steady window leaves
_LEFT_S = 20.0  # as long a rest has steps enough for a fit
_SEATS = (256, 1024)  # vllm.md 5.5: smaller and larger GPUs
LEAST_SEATS = _SEATS[0]
_ASSUMED = Text(
    "nothing says what {name} is; vLLM's usual {value} is taken", "没有来源给出 {name}；按 vLLM 常用值 {value} 计算"
)
_WHOLE = (
    "max_num_scheduled_tokens",
    "max_num_active_seqs",
    "max_num_queued_reqs",
    "max_num_queued_tokens",
    "long_prefill_token_threshold",
)
_SWITCHES = (
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "scheduler_reserve_full_isl",
    "long_prefill_token_threshold_adaptive",
)


class Subject(msgspec.Struct, frozen=True):
    """One engine in its window. ``start`` to ``stop`` are seconds of the played stretch, counted from its own begin,
    over which figures are compared; ``table`` holds the series of the stretch."""

    case: Situation
    options: EngineOptions
    machine: Machine
    table: SeriesTable
    inside: Bools  # the state's intervals that are compared
    start: float
    stop: float
    now: dict[Metric, float]
    slo: Slo | None = None
    assumed: tuple[Text, ...] = ()

    @property
    def state(self) -> EngineState:
        return self.case.state

    def load(self, seed: int, *, anew: bool = True) -> LoadDraw:
        """A draw of the stretch's load."""
        first = np.flatnonzero(self.state.t_start >= self.table.times[0] - self.state.start - 1e-6)
        there = self.state.running_start + np.nan_to_num(self.state.waiting_start)
        inside = float(np.nan_to_num(there[first[0]])) if len(first) else 0.0
        return load_draw(self.table, inside=inside, lifetime_s=mean_of(self.state.e2e), seed=seed, anew=anew)


def subject_of(diagnosis: Diagnosis, state: EngineState, slo: Slo | None = None) -> Subject:
    """Raises TooLittleData where the window does not say enough for any what-if, and says why."""
    table = after_restart(state)
    if table is None or len(table.times) < 3:
        raise TooLittleData("there are too few scrapes to rebuild the load from", "Look for longer (--for 60s).")
    case = situation(diagnosis, state)
    since = steps_since(diagnosis, state)
    machine = machine_of(state, since)
    options, assumed = options_of(case)
    played = _stretch(from_on(table, state.start + since))
    begin = float(played.times[0]) - state.start
    inside = case.inside & (state.t_start >= begin - 1e-6)
    if state.dt[inside].sum() < SHORTEST_S:
        inside = state.valid & (state.t_start >= begin - 1e-6)
    return Subject(
        case=case,
        options=options,
        machine=machine,
        table=played,
        inside=inside,
        start=max(float(state.t_start[inside][0]) - begin, 0.0),
        stop=float(played.times[-1] - played.times[0]),
        now=measured(state, inside),
        slo=slo,
        assumed=assumed,
    )


def steps_since(diagnosis: Diagnosis, state: EngineState) -> float:
    """When steps became as they are now, in seconds of the window; 0 where they did not change, or too late to tell.

    A change meets the steps of now: a fit through those of before and after is neither.
    """
    for one in diagnosis.evidence:
        if one.id == "step.residual" and one.onset is not None and one.value is not None and one.strength > 0:
            changed = abs(math.log(max(one.value, 1e-3))) > _STEPS_CHANGED
            left = float(state.t_end[-1]) - one.onset.seconds if len(state.t_end) else 0.0
            return one.onset.seconds if changed and left >= _LEFT_S else 0.0
    return 0.0


def _stretch(table: SeriesTable) -> SeriesTable:
    first = int(np.searchsorted(table.times, table.times[-1] - LONGEST_S))
    return SeriesTable(table.times[first:], table.keys, table.values[:, first:])


def options_of(case: Situation) -> tuple[EngineOptions, tuple[Text, ...]]:
    """The engine as it was started, and what had to be assumed. Raises TooLittleData where the pool is not known."""
    setup, assumed = case.setup, []
    blocks = case.limit("num_gpu_blocks")
    if not blocks >= 1:
        raise TooLittleData(
            "nothing says how many KV blocks the server has, so nothing can be said of a change",
            "The page has them in vllm:cache_config_info; or give the server's log with --log.",
        )
    values: dict[str, Any] = {"num_gpu_blocks": int(blocks)}
    for name, usual in _USUAL.items():
        found = setup.number(name) or case.limit(name)
        taken = usual if name != "max_num_seqs" else _seats(case.state)
        if not found > 0:
            assumed.append(_ASSUMED.format(name=name, value=taken))
        values[name] = int(found) if found > 0 else taken
    for name in _WHOLE:
        number = setup.number(name)
        if number:
            values[name] = int(number)
    for name in _SWITCHES:
        on = setup.on(name)
        if on is not None:
            values[name] = on
    values["watermark"] = setup.number("watermark") or 0.0
    values["scheduling_policy"] = "priority" if setup.text("scheduling_policy") == "priority" else "fcfs"
    values["async_scheduling"] = overlaps(case)
    return EngineOptions(**values), tuple(assumed)


def _seats(state: EngineState) -> int:
    """The least of vLLM's defaults that as many requests fit into as were seen to run."""
    ran = int(np.nanmax(state.running_end, initial=0.0, where=np.isfinite(state.running_end)))
    return next((seats for seats in _SEATS if ran <= seats), ran)


def overlaps(case: Situation) -> bool:
    """Whether steps overlap: as reported, else by vLLM's own rule (on since 0.14 where there is a GPU)."""
    configuration = case.state.configuration
    if configuration.device == "cpu":
        return False
    on = configuration.async_scheduling
    version = case.setup.version
    return on if on is not None else not version or version >= (0, 14)


def measured(state: EngineState, inside: Bools) -> dict[Metric, float]:
    """What the window's own counters say; NaN where nothing was seen."""
    seconds = float(state.dt[inside].sum())
    usage = state.kv_usage_end[inside & np.isfinite(state.kv_usage_end)]
    return {
        "ttft_mean": mean_of(state.ttft, inside),
        "ttft_p95": _p95(state.ttft, inside),
        "itl_mean": mean_of(state.itl, inside),
        "itl_p95": _p95(state.itl, inside),
        "e2e_p95": _p95(state.e2e, inside),
        "tokens_per_s": _rate(state.generation_tokens, inside, seconds),
        "goodput": math.nan,  # the page does not tell which request met which bound
        "kv_headroom": 1.0 - float(np.percentile(usage, 95)) if len(usage) else math.nan,
        "preemptions": _rate(state.preemptions, inside, seconds),
    }


def _p95(histogram: HistogramDelta, inside: Bools) -> float:
    estimate, _, high = quantile_of(histogram, 0.95, inside)
    return estimate if math.isfinite(high) else math.nan  # in the last bucket there is only a lower bound


def _rate(increase: Any, inside: Bools, seconds: float) -> float:
    seen = increase[inside]
    seen = seen[np.isfinite(seen)]
    return float(seen.sum()) / seconds if len(seen) and seconds > 0 else math.nan
