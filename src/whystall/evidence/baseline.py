"""What a server does when it is well, kept from another recording: what its step costs, its usual ITL, its load.

A window that was slow from its first page has no healthy past of its own; a saved one tells what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from whystall.errors import UsageError
from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.state.histograms import mean_of
from whystall.state.step_cost import StepRows, pause_s, step_rows, without_pauses

from .focus import focus
from .front_end import front_residual
from .scene import Known, Scene
from .symptoms import usual_itl
from .thresholds import level, ramp


class Baseline(msgspec.Struct, frozen=True):
    """A healthy engine's figures, each over its whole recording; NaN where it was not seen."""

    engine: str
    model: str
    version: str
    source: str
    rows: StepRows
    figures: dict[str, float]


class Compared(msgspec.Struct, frozen=True):
    """A figure of a baseline and the sentence that says how the incident departs from it; ``scale`` for its unit."""

    id: str
    unit: str
    scale: float
    text: Text


COMPARED = (
    Compared(
        "baseline.itl",
        "ratio",
        1e3,
        Text(
            "mean ITL is {now:~3} ms, {times:as|# times} the {usual:~3} ms of the baseline",
            "平均 ITL {now:~3} 毫秒，是基线 {usual:~3} 毫秒的 {times:~2} 倍",
        ),
    ),
    Compared(
        "baseline.ttft",
        "ratio",
        1e3,
        Text(
            "mean TTFT is {now:~3} ms, {times:~2} times the {usual:~3} ms of the baseline",
            "平均 TTFT {now:~3} 毫秒，是基线 {usual:~3} 毫秒的 {times:~2} 倍",
        ),
    ),
    Compared(
        "baseline.prefill",
        "ratio",
        1e3,
        Text(
            "prefill takes {now:~3} ms a thousand prompt tokens computed, {times:~2} times the {usual:~3} ms of the baseline",
            "每千个计算的提示 token 预填充 {now:~3} 毫秒，是基线 {usual:~3} 毫秒的 {times:~2} 倍",
        ),
    ),
    Compared(
        "baseline.front",
        "ratio",
        1e3,
        Text(
            "the front end takes {now:~3} ms of the TTFT, {times:~2} times the {usual:~3} ms of the baseline",
            "前端占 TTFT 的 {now:~3} 毫秒，是基线 {usual:~3} 毫秒的 {times:~2} 倍",
        ),
    ),
    Compared(
        "baseline.prompts",
        "ratio",
        1.0,
        Text(
            "prompts are {now:.0f} tokens long, {times:as the baseline's|# times the baseline's}",
            "提示长 {now:.0f} 个 token，{times:与基线相同|是基线的 # 倍}",
        ),
    ),
    Compared(
        "baseline.outputs",
        "ratio",
        1.0,
        Text(
            "outputs are {now:.0f} tokens long, {times:as the baseline's|# times the baseline's}",
            "输出长 {now:.0f} 个 token，{times:与基线相同|是基线的 # 倍}",
        ),
    ),
    Compared(
        "baseline.requests",
        "ratio",
        1.0,
        Text(
            "{now:~3} requests get their first token in a second, {times:as the baseline's|# times the baseline's}",
            "每秒 {now:~3} 个请求得到首 token，{times:与基线相同|是基线的 # 倍}",
        ),
    ),
)
# Below these a figure is next to nothing, and its ratio to another one says nothing.
_LEAST = {"baseline.itl": 1e-3, "baseline.ttft": 0.02, "baseline.front": 0.02, "baseline.prefill": 1e-3}


def baselines(states: Sequence[EngineState], source: str, slo: Slo | None = None) -> list[Baseline]:
    """What is usual for each engine of a healthy recording.

    Raises :class:`~whystall.errors.UsageError` where the recording itself has an incident (method.md 2.6).
    """
    return [_baseline(state, source, slo) for state in states]


def _baseline(state: EngineState, source: str, slo: Slo | None) -> Baseline:
    if focus(state, slo).hurts:
        raise UsageError(
            f"the baseline {source} has an incident of its own, so it does not tell what is usual",
            "Record the server while it is healthy (whystall record), and give that folder.",
        )
    rows = step_rows(state)
    rows = without_pauses(rows, pause_s(rows, state))
    return Baseline(state.engine.id, state.engine.model, state.engine.version, source, rows, figures(state))


def figures(state: EngineState, where: np.ndarray | None = None) -> dict[str, float]:
    """The figures that are compared, over the chosen intervals: seconds, tokens, requests a second, a share."""
    at = state.valid if where is None else where
    first, seconds = float(np.nansum(state.first_tokens[at])), float(state.dt[at].sum())
    computed = float(np.nansum(state.computed_tokens[at]))
    queries = float(np.nansum(state.prefix_queries[at]))
    front = front_residual(state)[at]
    return {
        "usual_itl": usual_itl(state, level("felt_itl"), at),
        "baseline.itl": mean_of(state.itl, at),
        "baseline.ttft": mean_of(state.ttft, at),
        "baseline.prefill": 1e3 * float(np.nansum(state.prefill.sum[at])) / computed if computed > 0 else math.nan,
        "baseline.front": max(float(np.nanmedian(front)), 0.0) if np.isfinite(front).any() else math.nan,
        "baseline.prompts": float(np.nansum(state.prompt_tokens[at])) / first if first > 0 else math.nan,
        "baseline.outputs": mean_of(state.output_length, at),
        "baseline.requests": first / seconds if seconds > 0 else math.nan,
        "baseline.hits": float(np.nansum(state.prefix_hits[at])) / queries if queries > 0 else math.nan,
    }


def known_of(found: Sequence[Baseline], state: EngineState) -> Known | None:
    """The baseline of this engine: the one with its label and model, else the only one with its model or the only one."""
    same = [b for b in found if b.engine == state.engine.id and b.model == state.engine.model]
    same = same or [b for b in found if b.model == state.engine.model] or list(found)
    return Known(same[0].source, same[0].version, same[0].rows, same[0].figures) if same else None


def baseline(scene: Scene) -> Iterator[Evidence]:
    """Every figure against the saved baseline; departures are anomalies. Nothing without one."""
    known = scene.known
    if known is None:
        return
    now = figures(scene.state, scene.inside)
    for one in COMPARED:
        usual, here = known.figures.get(one.id, math.nan), now[one.id]
        least = _LEAST.get(one.id, 1e-9)
        if not (math.isfinite(usual) and math.isfinite(here)) or max(usual, here) < least:
            continue
        times = max(here, least) / max(usual, least)
        departs = abs(math.log(times)) > math.log(level("shift"))
        strength = ramp(math.log(times), math.log(level("shift")) / 2, 1.5 * math.log(level("shift")))
        words = one.text.format(now=one.scale * here, usual=one.scale * usual, times=times)
        yield scene.evidence(one.id, times, one.unit, strength, words, anomaly=departs)
    yield from _hits(scene, known.figures.get("baseline.hits", math.nan), now["baseline.hits"])


def _hits(scene: Scene, usual: float, here: float) -> Iterator[Evidence]:
    if not (math.isfinite(usual) and math.isfinite(here)):
        return
    text = Text(
        "the prefix cache supplies {here:.0%} of the prompt tokens, {usual:.0%} in the baseline",
        "前缀缓存提供 {here:.0%} 的提示 token，基线为 {usual:.0%}",
    )
    lost = usual - here
    departs = abs(lost) > level("hit_loss")
    strength = ramp(lost, level("hit_loss") / 3, level("hit_loss"))
    words = text.format(here=here, usual=usual)
    yield scene.evidence("baseline.hits", lost, "ratio", strength, words, anomaly=departs)
