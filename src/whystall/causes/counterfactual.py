"""Does the cause make the loss, and does the loss go without it: asked of the emulated engine (method.md 2.4).

The cause put into the emulated healthy load must make at least 80% of the observed loss, and the reproduced incident
must lose at least 80% of its loss without it. A limit is put in by lifting all others and taken out by lifting itself; a
feature of the load by giving it to the healthy load, and by giving the incident the healthy one's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import msgspec
import numpy as np

from whystall.emulator.engine.figures import RunFigures
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles.matching import profile_for
from whystall.evidence.scene import Scene
from whystall.model.diagnosis import Cause, Diagnosis, Notice, Reproduced
from whystall.model.engine_state import Bools, EngineState, HistogramDelta
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.state.demand import Demand, demand_of, led, paired
from whystall.state.histograms import mean_of

from .rerun import LIMITS, LOAD, Bench, options_of, paced_mean

ENOUGH = 0.8  # of the loss (method.md 2.4)
_LIGHT = 20  # where no healthy past was seen, the incident's load at so small a part of its rate stands for it
CHECKED = 5  # causes, the surest first: each takes two runs
_NOT_PLAYED = Text(
    "the emulated engine cannot play this incident with and without {causes}: nothing was reproduced",
    "模拟引擎无法在有无 {causes} 的情况下重演该事件，因此未做复现",
)
_LONGEST_LEAD_S = 120.0  # from the change of the load to the loss: what filled before is full by then
_FITS = 0.05  # of the ITL that was seen
_FITTING = 6  # runs for a step time
_INSIDE = 0.15  # of what is left to search is left on either side: one end alone would creep
_APART = 1.5  # times the steps of another machine of the kind


class Treatment(msgspec.Struct, frozen=True):
    """How a cause is put in and taken out. ``alone``: what the healthy load gets of the incident's; ``rest``: what the
    incident keeps without it. ``limit``: it is that limit of the server. ``device``: it is prefill's cost, or a part of
    the step time (a coefficient of the profile).
    """

    alone: frozenset[str] = LOAD
    rest: frozenset[str] = LOAD
    limit: str = ""
    device: str = ""


def _of_load(alone: str, *, rest: frozenset[str] | None = None) -> Treatment:
    return Treatment(frozenset((alone,)), rest if rest is not None else LOAD - {alone})


TREATMENTS: dict[str, Treatment] = {
    "longer_prompts": _of_load("prompts"),
    "longer_outputs": _of_load("outputs"),
    "overload": _of_load("arrivals"),
    "burst": _of_load("bursts", rest=LOAD - {"arrivals"} | {"even"}),
    "prefix_cache_loss": _of_load("sharing"),
    "head_of_line_prompt": _of_load("giants", rest=LOAD - {"prompts"}),
    "kv_capacity": Treatment(limit="blocks"),
    "seat_cap": Treatment(limit="seats"),
    "token_budget": Treatment(limit="budget"),
    "queue_limit": Treatment(limit="queue"),
    "prefill_bound": Treatment(device="prefill"),
    "prefill_interference": Treatment(device="prefill"),
    "launch_bound": Treatment(device="host"),
    "engine_loop_cpu": Treatment(device="host"),
    "sampler_cpu": Treatment(device="host"),
    "gpu_throttle": Treatment(device="gpu"),
    "slow_kernel": Treatment(device="gpu"),
    "comm_bound": Treatment(device="link"),
    "straggler_rank": Treatment(device="link"),
}
_STEP_TIME = ("host", "gpu", "link")
_GPU = (
    *("floor_s", "base_s", "token_s", "decode_base_s", "decode_context_s", "decode_request_s"),
    *("pair_s", "mixed_base_s", "mixed_context_s", "mixed_request_s"),
)


class _Loss(msgspec.Struct, frozen=True):
    """The figure that the incident spoils most: of the page, and of a run; before and during."""

    figure: str
    before: float
    during: float

    def of(self, run: RunFigures) -> float:
        names = {"ttft_mean_s": run.ttft_mean_s, "itl_mean_s": run.itl_mean_s, "rejected_per_s": run.rejected_per_s}
        value = names[self.figure]
        # Nobody got a first token: whoever waits does so for the whole time.
        return value if math.isfinite(value) else math.inf if self.figure == "ttft_mean_s" else 0.0

    @property
    def had_before(self) -> bool:
        """Whether it was seen before it hurt; of refusals there are none then."""
        return self.before > 0 or self.figure == "rejected_per_s"


def reproduce(
    diagnosis: Diagnosis, state: EngineState, profile: StepProfile | None = None, slo: Slo | None = None
) -> Diagnosis:
    """:func:`counterfactual` with the profile that is known for the server; a notice where there is none."""
    own = state.configuration
    gpu = own.device if own.device == "cpu" else own.gpu_name
    ranks, eager = own.tensor_parallel or 1, own.device == "cpu" or bool(own.enforce_eager)
    known = profile_for(gpu, own.weights_bytes, model=own.model, tensor_parallel=ranks, eager=eager)
    found = profile or known
    if found is not None:
        return _told(counterfactual(diagnosis, state, found, slo))
    if diagnosis.verdict != "bottleneck":
        return diagnosis
    text = Text(
        "the emulator has no profile for this server, so no cause was reproduced: whystall calibrate makes one",
        "模拟器没有该服务器的性能档案，未能复现任何原因：可用 whystall calibrate 生成",
    )
    return msgspec.structs.replace(diagnosis, warnings=(*diagnosis.warnings, Notice("no_profile", text)))


def _told(checked: Diagnosis) -> Diagnosis:
    """With a notice where none of the causes could be played: who asked for it gets an answer."""
    if checked.verdict != "bottleneck" or not checked.causes or any(cause.reproduced for cause in checked.causes):
        return checked
    named = ", ".join(cause.id for cause in checked.causes)
    notice = Notice("not_reproduced", _NOT_PLAYED.format(causes=named))
    return msgspec.structs.replace(checked, warnings=(*checked.warnings, notice))


def counterfactual(
    diagnosis: Diagnosis, state: EngineState, profile: StepProfile, slo: Slo | None = None, *, most: int = CHECKED
) -> Diagnosis:
    """``diagnosis`` with ``reproduced`` at its ``most`` surest causes that the engine can express.

    ``state`` is what was diagnosed, ``profile`` the step times of the healthy server. Unchanged where nothing is wrong,
    or the load cannot be rebuilt from the page.
    """
    scene = Scene(state, slo)
    if diagnosis.verdict != "bottleneck" or not scene.focus.hurts:
        return diagnosis
    calm, lead_s = _calm(scene, diagnosis)
    healthy, incident = _loads(scene, calm, lead_s)
    if incident is not None and not calm.any():
        incident, lead_s = _filled(scene, incident)
    loss = _loss(scene, calm)
    if healthy is None or incident is None or loss is None:
        return diagnosis
    every_s = float(np.median(state.dt[scene.inside]))
    healthy, incident = paired(healthy, incident)
    bench = Bench(healthy, incident, options_of(state, profile), profile, lead_s=lead_s, every_s=every_s)
    asked = [c for c in diagnosis.causes if c.id in TREATMENTS and not _is_the_profile(c.id, profile)][:most]
    own = _own_pace(bench, scene, calm)
    found = {c.id: _checked(c, scene, own if _has_own_pace(c.id, calm) else bench, loss) for c in asked}
    causes = tuple(msgspec.structs.replace(c, reproduced=found.get(c.id)) for c in diagnosis.causes)
    return msgspec.structs.replace(diagnosis, causes=causes)


def _is_the_profile(cause: str, profile: StepProfile) -> bool:
    """Whether the step times that are known are those of the cause, so that nothing tells what they are without it."""
    return cause == "launch_bound" and not profile.max_graph_tokens


def _filled(scene: Scene, incident: Demand) -> tuple[Demand, float]:
    """The incident with those who were inside when the window began, and the seconds before it in which they came."""
    state, lasts_s = scene.state, mean_of(scene.state.e2e)
    at = int(np.argmax(scene.inside))
    inside = float(np.nan_to_num(state.running_start[at]) + np.nan_to_num(state.waiting_start[at]))
    lead_s = min(lasts_s, _LONGEST_LEAD_S) if lasts_s > 0 else 0.0  # a NaN is not
    filled = led(incident, round(inside), lead_s)
    return filled, lead_s if filled is not incident else 0.0


def _calm(scene: Scene, diagnosis: Diagnosis) -> tuple[Bools, float]:
    """The healthy intervals before anything departed from them, and for how many seconds that went on before it hurt.

    A pool that longer answers fill hurts when it is full, and what is like the incident by then is no healthy load.
    """
    state, first = scene.state, np.flatnonzero(scene.inside)
    departed = [e.onset.low for e in diagnosis.evidence if e.id in diagnosis.anomalies and e.onset is not None]
    if not departed or not len(first):
        return scene.before, 0.0
    hurts = float(state.t_start[first[0]] - state.t_start[0])
    turn = max(min(departed), hurts - _LONGEST_LEAD_S)
    calm = np.asarray(scene.before & (state.t_end - state.t_start[0] <= turn), dtype=bool)
    return (calm, hurts - turn) if calm.any() and turn < hurts else (scene.before, 0.0)


def _loads(scene: Scene, calm: Bools, lead_s: float) -> tuple[Demand | None, Demand | None]:
    """The healthy load and the incident's. Without a healthy past: the incident's at a small part of its rate."""
    state = scene.state
    first = np.flatnonzero(scene.inside)
    since = np.asarray(state.t_start >= state.t_start[first[0]] - lead_s, dtype=bool) if lead_s else scene.inside
    incident = demand_of(state, scene.inside | (since & scene.before))
    if incident is None or calm.any():
        return demand_of(state, calm) if incident else None, incident
    light = msgspec.structs.replace(incident, times=incident.times[::_LIGHT], clients=min(incident.clients, 1))
    return light if light.times or light.clients else None, incident


def _loss(scene: Scene, calm: Bools) -> _Loss | None:
    """The mean TTFT, the mean ITL or the refusals, whichever grew by the larger factor."""
    state = scene.state
    # A refusal is an error of HTTP as well: it is counted twice.
    refused = scene.rate(np.fmax(np.nan_to_num(state.rejections), np.nan_to_num(state.http_errors)))
    if scene.focus.kinds.get("refusals", 0.0) > 0 and refused > 0:
        return _Loss("rejected_per_s", 0.0, refused)
    found = []
    for figure, histogram in (("ttft_mean_s", state.ttft), ("itl_mean_s", state.itl)):
        during = _mean(figure, histogram, scene, scene.inside)
        if figure == "ttft_mean_s" and not math.isfinite(during):  # nobody got one: how long they wait at least
            during = scene.queue_delay_s
        before = _mean(figure, histogram, scene, calm) if calm.any() else math.nan
        if during > 0 and math.isfinite(during):
            found.append(_Loss(figure, before, during))
    grown = [x for x in found if x.before > 0]
    if grown:
        return max(grown, key=lambda x: x.during / x.before)
    return next((x for x in found if (x.figure == "ttft_mean_s") == _waits(scene.focus.kinds)), None)


def _mean(figure: str, histogram: HistogramDelta, scene: Scene, where: Bools) -> float:
    """The mean TTFT by request, the mean ITL by the time: one quick second has as many tokens as a minute of slow ones."""
    if figure == "ttft_mean_s":
        return mean_of(histogram, where)
    return paced_mean(histogram.sum[where], histogram.count[where], scene.state.dt[where])


def _waits(kinds: Mapping[str, float]) -> bool:
    """Whether it is the first tokens that come late, and not the others."""
    first, others = (max(kinds.get(kind, 0.0) for kind in of) for of in (("queue", "ttft"), ("itl", "host_gap")))
    return first >= others


def _checked(cause: Cause, scene: Scene, bench: Bench, loss: _Loss) -> Reproduced:
    how = TREATMENTS[cause.id]
    slowed = _slowed(bench, scene, how.device) if how.device in _STEP_TIME else None
    base = loss.of(bench.run())
    observed = loss.during - (loss.before if loss.had_before else base)
    whole = loss.of(bench.run(LOAD, slowed=slowed))
    emulated = _share(whole - base, observed)
    if slowed is not None and not loss.had_before:
        # A machine that was never seen healthy: under the same load, one of its kind with steps as they should be is.
        healthy = loss.of(bench.run(LOAD))
        sufficiency = _share(whole - healthy, loss.during - healthy)
    else:
        sufficiency = _share(_alone(how, bench, loss, slowed) - base, observed)
    necessity = _share(whole - _without(how, bench, loss), whole - base)
    holds = sufficiency is not None and necessity is not None and min(sufficiency, necessity) >= ENOUGH
    return Reproduced(sufficiency, necessity, holds, loss.figure, emulated)


def _alone(how: Treatment, bench: Bench, loss: _Loss, slowed: StepProfile | None) -> float:
    """The figure with the cause in and nothing else wrong."""
    if how.limit:
        return loss.of(bench.run(LOAD, lifted=LIMITS - {how.limit}))
    if how.device == "prefill":
        return loss.of(bench.run(LOAD, lifted=LIMITS - {"budget"}))
    return loss.of(bench.run((), slowed=slowed) if slowed else bench.run(how.alone))


def _without(how: Treatment, bench: Bench, loss: _Loss) -> float:
    """The figure of the incident with the cause out."""
    if how.limit:
        return loss.of(bench.run(LOAD, lifted=(how.limit,)))
    if how.device:
        prefill = how.device == "prefill"  # elsewhere, where this server's budget is no matter
        return loss.of(bench.run(LOAD, quick=prefill, lifted=("budget",) if prefill else ()))
    return loss.of(bench.run(how.rest))


def _share(part: float, whole: float) -> float | None:
    """How much of a loss; None where there is none to share."""
    if not whole > 0 or math.isnan(part):
        return None
    if math.isinf(whole):
        return 1.0 if math.isinf(part) else 0.0
    return round(min(max(part / whole, 0.0), 9.99), 3)


def _has_own_pace(cause: str, calm: Bools) -> bool:
    """Whether the window tells what the machine's steps take anyway: before it hurt, or where they are not asked about."""
    return bool(calm.any()) or not TREATMENTS[cause].device


def _own_pace(bench: Bench, scene: Scene, calm: Bools) -> Bench:
    """With the step times of this very machine: as the profile's, by a factor that makes its ITL before it hurt; of a window
    without a past, its ITL in the incident. Machines of a kind are seldom further apart; what is, is no matter of pace.
    """
    past = bool(calm.any())
    seen = _mean("itl_mean_s", scene.state.itl, scene, calm if past else scene.inside)
    usual = bench.run(() if past else LOAD).itl_mean_s
    if not (_APART >= seen / usual > 1 + _FITS):
        return bench
    return bench.on(_fitted(bench, "gpu", seen, () if past else LOAD))


def _slowed(bench: Bench, scene: Scene, part: str) -> StepProfile:
    """The profile whose ``part`` takes so much longer that the emulated incident's ITL is the one that was seen."""
    seen, usual = _mean("itl_mean_s", scene.state.itl, scene, scene.inside), bench.run(LOAD).itl_mean_s
    return _fitted(bench, part, seen, LOAD) if seen > (1 + _FITS) * usual > 0 else bench.profile


def _fitted(bench: Bench, part: str, seen: float, load: Collection[str]) -> StepProfile:
    """The profile with ``part`` so much slower that the ITL under ``load`` is ``seen``, which is more than it makes.

    By false position on the logarithm: an engine that is nearly full gets slower without bound.
    """
    usual = bench.run(load).itl_mean_s
    low, high, share = (0.0, usual), (1.0, math.nan), 1.0  # the whole first: it is that where nothing grows with it
    found: list[tuple[float, StepProfile]] = []
    for _ in range(_FITTING):
        profile = _slower(bench.profile, part, usual, seen, share)
        emulated = bench.run(load, slowed=profile).itl_mean_s
        found.append((abs(math.log(emulated / seen)), profile))
        if found[-1][0] <= _FITS or (share == 1.0 and emulated < seen):
            break
        low, high = ((share, emulated), high) if emulated < seen else (low, (share, emulated))
        at = math.log(seen / low[1]) / math.log(high[1] / low[1])
        share = low[0] + (high[0] - low[0]) * min(max(at, _INSIDE), 1 - _INSIDE)
    return min(found, key=lambda one: one[0])[1]


def _slower(profile: StepProfile, part: str, usual: float, seen: float, share: float) -> StepProfile:
    """With ``share`` of what lies between the usual ITL and the seen one, as steps, in ``part``."""
    if part == "gpu":
        return profile.scaled(**dict.fromkeys(_GPU, (seen / usual) ** share))
    more = share * (seen - usual)
    changed = {"host_s": usual + more} if part == "host" else {"link_s": profile.link_s + more}
    return msgspec.structs.replace(profile, **changed)
