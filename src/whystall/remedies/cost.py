"""Money: what a million tokens cost now, what the bottleneck wastes, what remedies save, and GPUs needed at the SLO."""

from __future__ import annotations

from collections.abc import Sequence

from whystall.errors import TooLittleData, UsageError
from whystall.model.cost import Cost, Saving
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.engine_state import EngineState
from whystall.model.prediction import Interval, Prediction
from whystall.model.slo import Slo

from .setup import number_of
from .whatif.prediction import Stage, WhatIfAsked, predict, stage_of

MOST_REPLICAS = 16
_DRAWS = 6  # a count of whole servers needs no tails of the draws
_BOUNDED = ("ttft_p95", "itl_p95", "e2e_p95")
_HOUR_S, _MILLION = 3600.0, 1e6


def price_of(text: str) -> float:
    """A GPU's price per hour, as typed. Raises UsageError where it is none."""
    found = number_of(text)
    if found is None or not 0 < found < 1e6:
        raise UsageError(f"--gpu-hour takes a price, not {text!r}", "Write --gpu-hour 2.50, in any currency.")
    return found


def gpus_of(state: EngineState) -> int:
    """The GPUs of one engine: its tensor-parallel ranks times its pipeline stages; 1 where nothing tells."""
    configuration = state.configuration
    return max((configuration.tensor_parallel or 1) * (configuration.pipeline_parallel or 1), 1)


def cost_of(
    diagnosis: Diagnosis, state: EngineState, remedies: Sequence[Remedy], gpu_hour: float, slo: Slo | None = None
) -> Cost:
    """What the engine of ``state`` costs at ``gpu_hour`` a GPU, with what each predicted remedy would save."""
    gpus, tokens = gpus_of(state), diagnosis.impact.tokens_per_s
    now = _per_million(gpus * gpu_hour, tokens) if tokens else None
    need = _Need(diagnosis, state, slo)
    predicted = [remedy for remedy in remedies if remedy.prediction is not None]
    savings = [found for remedy in predicted if (found := _saving(remedy, gpus, gpu_hour, now, need)) is not None]
    same = [one.saves_per_million_tokens.mid for one in savings if one.gpus == gpus]
    wasted = max(max(same), 0.0) / now * gpus * gpu_hour if same and now else None
    return Cost(
        gpu_hour=gpu_hour,
        gpus=gpus,
        per_hour=gpus * gpu_hour,
        per_million_tokens=now,
        wasted_per_hour=wasted,
        gpus_at_slo=need.gpus(gpus, {}, None),
        most_gpus_tried=MOST_REPLICAS * gpus,
        savings=tuple(savings),
    )


def _per_million(per_hour: float, tokens_per_s: float) -> float:
    return per_hour / _HOUR_S / tokens_per_s * _MILLION


def _saving(remedy: Remedy, gpus: int, gpu_hour: float, now: float | None, need: _Need) -> Saving | None:
    prediction = remedy.prediction
    tokens = prediction.metric("tokens_per_s") if prediction is not None else None
    if prediction is None or tokens is None or tokens.relative is None or now is None:
        return None
    replicas = int(number_of(remedy.assume.get("replicas", "1")) or 1)
    own = int(number_of(remedy.change.get("--tensor-parallel-size", "")) or gpus)
    factor = replicas * own / gpus
    low, mid, high = (
        now * factor / max(1 + end, 1e-3) for end in (tokens.relative.high, tokens.relative.mid, tokens.relative.low)
    )
    needed = need.gpus(own, remedy.change, prediction) if not remedy.assume else None
    return Saving(
        remedy.id,
        remedy.text,
        replicas * own,
        Interval(low, mid, high),
        Interval(now - high, now - mid, now - low),
        needed,
    )


class _Need:
    """How many servers of a kind today's load needs at the SLO: the stage is played once it is asked."""

    def __init__(self, diagnosis: Diagnosis, state: EngineState, slo: Slo | None) -> None:
        self.slo = slo
        self._given = diagnosis, state
        self._stage: Stage | None = None
        self._none = slo is None or not any(self._bounds().values())

    def gpus(self, each: int, change: dict[str, str], alone: Prediction | None) -> int | None:
        """GPUs, ``each`` a server; ``alone``: what one server with ``change`` was predicted to do. None: not known."""
        if self._none:
            return None
        try:
            found = self._servers(change, alone)
        except TooLittleData:
            return None
        return each * found if found is not None else None

    def _servers(self, change: dict[str, str], alone: Prediction | None) -> int | None:
        if self._alone_meets(alone):
            return 1
        few, many = 1, 2
        while many <= MOST_REPLICAS and not self._meets(change, many):
            few, many = many, 2 * many
        if many > MOST_REPLICAS:
            return None
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if self._meets(change, middle) else (middle, many)
        return many

    def _alone_meets(self, alone: Prediction | None) -> bool:
        if alone is not None:
            return self._within(alone)
        now = self._played().subject.now
        return all(now.get(metric, 0.0) <= bound for metric, bound in self._bounds().items())  # type: ignore[call-overload]

    def _meets(self, change: dict[str, str], replicas: int) -> bool:
        found = predict(self._played(), WhatIfAsked(change, {"replicas": str(replicas)}))
        return isinstance(found, Prediction) and self._within(found)

    def _within(self, prediction: Prediction) -> bool:
        found = ((prediction.metric(metric), bound) for metric, bound in self._bounds().items())
        return all(metric is None or metric.predicted.mid <= bound for metric, bound in found)

    def _bounds(self) -> dict[str, float]:
        bounds = {metric: getattr(self.slo, f"{metric}_s", None) for metric in _BOUNDED} if self.slo else {}
        return {metric: bound for metric, bound in bounds.items() if bound is not None}

    def _played(self) -> Stage:
        if self._stage is None:
            self._stage = stage_of(*self._given, self.slo, _DRAWS)
        return self._stage
