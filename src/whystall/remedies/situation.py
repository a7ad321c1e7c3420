"""What a remedy's value is derived from: the diagnosis, the numbers behind it, and how the server was started."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from whystall.model.diagnosis import Diagnosis
from whystall.model.engine_state import Bools, EngineState, Floats

from .rules import setup_of, spelling
from .setup import Setup

# A peak that one scrape in twenty exceeds is a burst's tip.
PEAK = 95.0


class Situation(msgspec.Struct, frozen=True):
    """One engine's diagnosis, its state and its setup; ``inside`` marks the intervals of the incident."""

    diagnosis: Diagnosis
    state: EngineState
    setup: Setup
    inside: Bools

    @property
    def version(self) -> str:
        return self.state.configuration.version

    def now(self, knob: str) -> str | None:
        """The knob's value as far as it is known, be it from a plateau."""
        found, limit = self.setup.text(knob), self.limit(knob)
        return found if found is not None or not math.isfinite(limit) else f"{limit:.10g}"

    def has(self, knob: str) -> bool:
        """Whether the server's version is known to have the knob."""
        return spelling(knob, self.version) is not None

    def limit(self, name: str) -> float:
        """A limit of the server, NaN where it is not known."""
        value = self.state.limit_value(name)
        return value if math.isfinite(value) else math.nan

    def value(self, evidence: str) -> float:
        """The value of a piece of evidence, NaN where it was not seen."""
        found = next((e.value for e in self.diagnosis.evidence if e.id == evidence), None)
        return math.nan if found is None or not math.isfinite(found) else found

    def strength(self, evidence: str) -> float:
        """How far a piece of evidence speaks for what it names, 0 where it was not seen."""
        return next((e.strength for e in self.diagnosis.evidence if e.id == evidence), 0.0)

    def mean(self, values: Floats) -> float:
        """Mean of a gauge over the incident, NaN where it was not seen."""
        seen = values[self.inside & np.isfinite(values)]
        return float(seen.mean()) if len(seen) else math.nan

    def peak(self, values: Floats) -> float:
        """What a gauge of the incident seldom exceeds, NaN where it was not seen."""
        seen = values[self.inside & np.isfinite(values)]
        return float(np.percentile(seen, PEAK)) if len(seen) else math.nan

    def total(self, increases: Floats) -> float:
        """Increase over the incident, NaN where it was not seen."""
        seen = increases[self.inside & np.isfinite(increases)]
        return float(seen.sum()) if len(seen) else math.nan

    def rate(self, increases: Floats) -> float:
        """Increase per second over the incident, NaN where it was not seen."""
        seconds = float(self.state.dt[self.inside & np.isfinite(increases)].sum())
        return self.total(increases) / seconds if seconds > 0 else math.nan

    def ranks(self) -> float:
        """Engines behind one server: limits of the queue hold for all of them together (vllm.md 6.1)."""
        return self.setup.number("data_parallel_size") or 1.0

    def demand(self) -> float:
        """Requests in the engine at the incident's peak, running and waiting ones."""
        return self.peak(self.state.running_end + np.nan_to_num(self.state.waiting_end))

    def tokens_a_sequence(self) -> float:
        """KV tokens that a running sequence holds, from usage and the pool's size; NaN where one is not known."""
        state = self.state
        pool = (self.limit("num_gpu_blocks") - 1) * self.limit("block_size")
        with np.errstate(invalid="ignore", divide="ignore"):
            held = np.where(state.running_end > 0, state.kv_usage_end * pool / state.running_end, np.nan)
        return self.mean(held)

    def seats_in_pool(self) -> float:
        """Sequences of today's length that the KV pool holds; NaN where that cannot be computed."""
        held = self.tokens_a_sequence()
        pool = (self.limit("num_gpu_blocks") - 1) * self.limit("block_size")
        return pool / held if held > 0 else math.nan

    def tokens_per_s(self) -> float:
        """Prompt tokens that a second of pure prefill computes; NaN where its share of the time is not known."""
        share, rate = self.value("prefill.busy"), self.rate(self.state.computed_tokens)
        return rate / share if share > 0.05 and rate > 0 else math.nan


def situation(diagnosis: Diagnosis, state: EngineState) -> Situation:
    """The situation of one engine; the incident begins with the first cause's onset, else with the window."""
    onset = next((cause.onset.seconds for cause in diagnosis.causes if cause.onset), 0.0)
    inside = state.valid & (state.t_end > onset)
    return Situation(diagnosis, state, setup_of(state.configuration), inside if inside.any() else state.valid)


def rounded_up(count: float) -> int:
    """A count of seats or requests as one would write it: up to eight as it is, above that a multiple of eight."""
    return math.ceil(count) if count <= 8 else 8 * math.ceil(count / 8)


def power_of_two(tokens: float) -> int:
    """The power of two that is nearest to ``tokens`` in ratio; 1 below 2."""
    return 1 << round(math.log2(max(tokens, 1.0)))
