"""Evidence -> Diagnosis: score, chains, verdict, what was ruled out."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from whystall.evidence.bounds import bounds
from whystall.evidence.cohorts import cohorts
from whystall.evidence.families import collect
from whystall.evidence.holders import who
from whystall.evidence.impact import impact
from whystall.evidence.lags import lags
from whystall.evidence.scene import Known, Scene
from whystall.evidence.thresholds import level
from whystall.evidence.trace import contradiction
from whystall.evidence.untold import untold
from whystall.model.diagnosis import (
    Cause,
    Diagnosis,
    Evidence,
    Impact,
    Notice,
    Onset,
    Remedy,
    RuledOut,
    Verdict,
    Window,
)
from whystall.model.engine_state import Bools, EngineState
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.profiles.figures import TraceFigures

from .coverage import coverage
from .entry import CauseEntry
from .headline import headline
from .information import Doubt
from .questions import next_question
from .weighing import Seen, Weighed, weigh
from .weights import table, weighted_catalogue

# Fewer usable intervals give no rate and its check.
MIN_INTERVALS = 2
_NO_TEXT = Text("", "")


def judge(
    state: EngineState,
    target: str,
    *,
    slo: Slo | None = None,
    notices: tuple[Notice, ...] = (),
    trace: TraceFigures | None = None,
    known: Known | None = None,
) -> Diagnosis:
    """The diagnosis of one engine's window, with what a profile and a saved healthy recording say beside it."""
    if not readable(state):
        return _too_little(state, int(_usable(state).sum()), target, notices)
    scene = Scene(state, slo, trace, known)
    evidence = collect(scene)
    disagree = contradiction(trace, evidence)
    notices = (*notices, Notice("trace_contradicts", disagree)) if disagree else notices
    entries = weighted_catalogue()
    weighed = weigh(Seen(evidence, scene.focus.kinds, scene.focus.hurts), entries, table().temperature)
    return _diagnosis(scene, target, notices, evidence, entries, weighed)


def _diagnosis(
    scene: Scene,
    target: str,
    notices: tuple[Notice, ...],
    evidence: dict[str, Evidence],
    entries: dict[str, CauseEntry],
    weighed: Weighed,
) -> Diagnosis:
    """What was weighed, as it is told: nothing is named where the window proves nothing."""
    state, costs = scene.state, impact(scene)
    short = unproven(scene, costs)
    verdict = weighed.verdict if short is None else "unknown"
    causes = () if short is not None else tuple(_cause(scene, entries[n], weighed, evidence) for n in weighed.named)
    why = short or _why(scene, verdict, causes, entries, evidence)
    doubt = _doubt(causes, entries) if verdict == "unknown" else None
    return Diagnosis(
        target=target,
        engine=state.engine,
        window=_window(state),
        verdict=verdict,
        headline=headline(verdict, causes, entries, evidence, costs, why),
        causes=causes,
        ruled_out=_ruled_out(entries, evidence, {c.id for c in causes}, scene),
        evidence=tuple(sorted(evidence.values(), key=lambda e: -abs(e.strength))),
        remedies=_remedies(causes, entries) if verdict == "bottleneck" else (),
        anomalies=tuple(e.id for e in evidence.values() if e.anomaly),
        impact=costs,
        identities=state.identities,
        coverage=coverage(state, entries, evidence, doubt),
        limits=state.limits,
        warnings=notices,
        who=who(scene),
        cohorts=cohorts(scene),
        lags=lags(scene),
    )


def readable(state: EngineState) -> bool:
    """Whether there is enough to weigh; without any page the log may say why."""
    return int(_usable(state).sum()) >= MIN_INTERVALS or "metrics" not in state.signals


def _usable(state: EngineState) -> Bools:
    """Intervals in which the page told of running requests and of work done."""
    done = np.isfinite(state.generation_tokens) | np.isfinite(state.finished)
    return np.asarray(state.valid & np.isfinite(state.running_end) & done)


def _cause(scene: Scene, entry: CauseEntry, weighed: Weighed, evidence: dict[str, Evidence]) -> Cause:
    whys = weighed.held[entry.id].whys
    pull = {n: w * evidence[n].strength for n, w in entry.weights.items() if n in evidence}
    speaks_for = sorted((n for n, x in pull.items() if x > 0.3), key=lambda n: -pull[n])
    against = sorted((n for n, x in pull.items() if x < -0.3), key=lambda n: pull[n])
    cited = [name for why in whys for name in why.evidence]
    lead = next((n for n in speaks_for if n in cited and entry.weights[n] > 0), cited[0])
    return Cause(
        id=entry.id,
        probability=weighed.probability[entry.id],
        role=entry.role,
        summary=evidence[lead].text,
        onset=_onset(scene, entry, evidence),
        whys=whys,
        evidence_for=tuple(speaks_for),
        evidence_against=tuple(against),
        limit=scene.state.limit(entry.limit) if entry.limit else None,
    )


def _onset(scene: Scene, entry: CauseEntry, evidence: dict[str, Evidence]) -> Onset | None:
    for name in entry.onset_from:
        if name in evidence and evidence[name].onset is not None:
            return evidence[name].onset
    return None if entry.explains_idle else scene.focus.onset


def _why(
    scene: Scene,
    verdict: Verdict,
    causes: tuple[Cause, ...],
    entries: dict[str, CauseEntry],
    evidence: dict[str, Evidence],
) -> Text:
    """What an "unknown" leaves open, or why a healthy server is idle."""
    if verdict == "healthy":
        return entries[causes[0].id].title if causes else _NO_TEXT
    return _open_question(scene, causes, entries, evidence) if verdict == "unknown" else _NO_TEXT


def _doubt(causes: tuple[Cause, ...], entries: dict[str, CauseEntry]) -> Doubt | None:
    """What an "unknown" hesitates between."""
    if not causes:
        return None
    first, second = causes[0], causes[1] if len(causes) > 1 else None
    if second is None:
        return Doubt(entries[first.id], first.probability)
    return Doubt(entries[first.id], first.probability, entries[second.id], second.probability)


def unproven(scene: Scene, costs: Impact) -> Text | None:
    """Why a window in which nothing hurts is no proof of health; None where it is one, or where something hurts."""
    return None if scene.focus.hurts else _unread(scene.state) or untold(scene) or _too_short(scene, costs)


def _unread(state: EngineState) -> Text | None:
    """Most of the time could not be read (no page, counters gone), or the server was away in the end or in between."""
    gone = state.unanswered_after_s
    if gone >= level("episode_min"):
        text = Text("the last {n:span} gave no page any more", "最后 {n:span}没有再得到任何指标页面")
        return text.format(n=round(gone))
    away = float(state.dt[~state.valid].max(initial=0.0) - np.median(state.dt)) if len(state.dt) else 0.0
    if away >= level("episode_min"):
        text = Text("the server was away for {n:span} and started anew", "服务器消失了 {n:span}后重新启动")
        return text.format(n=round(away))
    read = float(state.dt[_usable(state)].sum())
    whole = state.unanswered_before_s + state.seconds + gone
    if read >= whole / 2:
        return None
    text = Text("only {read:span} of {n:span} could be read", "{n:span}中仅有 {read:span}可读")
    return text.format(read=round(read), n=round(whole))


def _too_short(scene: Scene, costs: Impact) -> Text | None:
    """Why a window without an incident is no proof of health: an incident could not have shown in it, or one may begin.

    Losses shorter than ``episode_min`` are waves that pass; a window of less than two such spans cannot tell which. Where
    they made the mean request wait, they are no side matter: the window must show that none comes within ``episode_gap``.
    """
    least, passing = level("episode_min"), scene.focus.passing
    waits = bool(passing) and (costs.queue_s or 0.0) >= bounds(scene.slo).wait_s
    if scene.seconds >= (2 * level("episode_gap") if waits else 2 * least if passing else least):
        return None
    if passing:
        loss = _LOSS["queue" if waits else next(kind for kind in _LOSS if kind in passing)]
        text = Text(
            "{loss}; {n:span} are too short to tell whether it stays", "{loss}；{n:span}太短，无法判断是否会持续"
        )
        return text.format(loss=loss, n=round(scene.seconds))
    text = Text("{n:span} are too short to see a limit bind", "{n:span}太短，看不出是否有限制起作用")
    return text.format(n=round(scene.seconds))


_LOSS = {
    "stall": Text("everything stood still for some seconds", "一切停顿了数秒"),
    "refusals": Text("requests fail", "请求失败"),
    "queue": Text("requests queue", "请求排队"),
    "itl": Text("tokens come late", "token 来得慢"),
    "front": Text("first tokens are late before the engine sees the requests", "首 token 在引擎收到请求之前就已延迟"),
    "host_gap": Text("the GPU is idle with work at hand", "GPU 在有活时空闲"),
    "client": Text(
        "the client gets first tokens well after the server sent them", "客户端收到首 token 远晚于服务器发出"
    ),
    "away": Text("the server did not answer", "服务器没有响应"),
    "throttle": Text("the GPU's clock is held down", "GPU 时钟被压低"),
    "contrast": Text("the same load is served better without one thing", "去掉某一项后同样的负载表现更好"),
    "ttft": Text("first tokens come late", "首 token 来得晚"),
    "e2e": Text("requests take longer than promised", "请求耗时超过承诺"),
}


def _open_question(
    scene: Scene, causes: tuple[Cause, ...], entries: dict[str, CauseEntry], evidence: dict[str, Evidence]
) -> Text:
    kind = max(scene.focus.kinds, key=lambda k: scene.focus.kinds[k])
    loss = _LOSS["stall"] if scene.focus.kinds.get("stall") else _LOSS[kind]
    if kind == "away":
        loss = _unread(scene.state) or loss
    if not causes:
        none = Text("{loss}, and no known cause explains it", "{loss}，没有已知原因能解释").format(loss=loss)
        asked = next_question(scene.focus.kinds, evidence)
        return (
            none
            if asked is None
            else Text("{none}; ask first about {place}", "{none}；先查{place}").format(none=none, place=asked.place)
        )
    titles = [entries[c.id].title for c in causes[:2]]
    named = Text(" or ".join(t.en for t in titles), "或".join(t.zh for t in titles))
    return Text("{loss}; perhaps {named}", "{loss}；可能是{named}").format(loss=loss, named=named)


def _ruled_out(
    entries: dict[str, CauseEntry], evidence: dict[str, Evidence], named: set[str], scene: Scene
) -> tuple[RuledOut, ...]:
    """Causes that a number speaks against, with that number, the most decided first."""
    found: list[tuple[float, RuledOut]] = []
    for name, entry in entries.items():
        if name in named or entry.explains_idle:
            continue
        pull = {n: w * evidence[n].strength for n, w in entry.weights.items() if n in evidence}
        against = min(pull, key=lambda n: pull[n], default=None)
        if against is not None and pull[against] < -0.5:
            found.append((pull[against], RuledOut(name, evidence[against].text)))
    return tuple(ruled for _, ruled in sorted(found, key=lambda f: f[0]))


def _remedies(causes: tuple[Cause, ...], entries: dict[str, CauseEntry]) -> tuple[Remedy, ...]:
    return tuple(
        Remedy(id=f"first_step.{c.id}", text=entries[c.id].first_step, restart=entries[c.id].restart, cause=c.id)
        for c in causes
    )


def _window(state: EngineState) -> Window:
    interval = float(sorted(state.dt)[len(state.dt) // 2]) if len(state.dt) else None
    return Window(
        start=state.start,
        end=state.start + state.seconds,
        seconds=state.seconds,
        scrapes=len(state.dt) + 1,
        interval_s=interval,
    )


def _too_little(state: EngineState, usable: int, target: str, notices: tuple[Notice, ...]) -> Diagnosis:
    text = Text(
        "Could not tell: too little data, usable intervals between scrapes: {n}",
        "无法判断：数据太少，可用的采样间隔：{n}",
    )
    entries = weighted_catalogue()
    return Diagnosis(
        target=target,
        engine=state.engine,
        window=_window(state),
        verdict="unknown",
        headline=text.format(n=usable),
        coverage=coverage(state, entries, {}),
        limits=state.limits,
        warnings=notices,
    )


def worst(diagnoses: list[Diagnosis]) -> Diagnosis:
    """The outer diagnosis of several engines: the worst one, with all of them inside."""
    order = {"bottleneck": 2, "unknown": 1, "healthy": 0}
    top = max(diagnoses, key=lambda d: (order[d.verdict], d.causes[0].probability if d.causes else 0.0, _loss(d)))
    return msgspec.structs.replace(top, engines=tuple(diagnoses)) if len(diagnoses) > 1 else top


def _loss(diagnosis: Diagnosis) -> float:
    queue = diagnosis.impact.queue_s
    return queue if queue is not None and math.isfinite(queue) else 0.0
