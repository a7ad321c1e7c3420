"""What is watched, as the nouns that the HTTP interface and the terminal show."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from whystall import __version__
from whystall.model.diagnosis import Cause, Diagnosis, Onset
from whystall.model.fleet import (
    EngineCondition,
    EngineView,
    Fleet,
    FleetEngine,
    Headroom,
    Mark,
    OwnState,
    Phase,
    Spark,
    StoreState,
    UsualFigure,
    ViewLine,
    ViewPanel,
)
from whystall.model.incident import Incident
from whystall.model.text import Text
from whystall.model.timeline import Timeline, TimelineLine

from .figures import Figures, increase, mean_over
from .links import Links
from .links_view import links_view
from .look import Seen
from .lookout import Lookout
from .pulse import MOST_S, Pulse
from .server import EngineSeen, Server
from .spread import with_spread
from .view_values import values

SPARK_POINTS = 60
_ORDER: dict[EngineCondition, int] = {"incident": 0, "unreachable": 0, "warning": 1, "starting": 2, "ok": 3}
_LATE = Text(
    "This watch is late itself: its loop waited up to {lag:.1f} s for CPU, {late:.0f} s of the last 15 minutes. {excused} "
    "scrapes that ran out of time are not held against their servers. Give it more CPU or fewer targets.",
    "本监视进程自身滞后：事件循环等待 CPU 最长 {lag:.1f} 秒，最近 15 分钟共滞后 {late:.0f} 秒。"
    "{excused} 次超时的抓取未计入服务器故障。请为它分配更多 CPU，或减少目标。",
)
_STARTING = Text("Not looked at yet", "尚未观察")
_KV = Text("{used:.0%} of the KV blocks in use", "KV 块已用 {used:.0%}")
_SEATS = Text("{used:.0f} of {of:.0f} seats taken (max_num_seqs)", "{of:.0f} 个席位已占 {used:.0f} 个（max_num_seqs）")
_QUEUE = Text(
    "{used:.0f} requests of {of:.0f} (max_num_queued_reqs)", "请求 {used:.0f} / {of:.0f}（max_num_queued_reqs）"
)
_PHASES = {
    "queue": Text("waiting for admission", "等待准入"),
    "prefill": Text("prefill", "预填充"),
    "decode": Text("decode", "解码"),
}


def fleet(lookout: Lookout, store: StoreState, started: float, links: Links | None = None) -> Fleet:
    """All engines, the worst first, and the ways to other daemons."""
    pairs = [(server, engine) for server in lookout.servers.values() for engine in server.engines.values()]
    engines = [fleet_engine(server, engine) for server, engine in pairs]
    unseen = [_unseen(server) for server in lookout.servers.values() if not server.engines]
    ordered = sorted([*with_spread(engines), *unseen], key=lambda one: (_ORDER[one.condition], one.id))
    ways = links_view(links) if links is not None else ()
    return Fleet(time.time(), started, __version__, tuple(ordered), store, own_state(lookout.pulse), ways)


def own_state(pulse: Pulse) -> OwnState:
    """How the watch itself goes."""
    lag_s, late_s = round(pulse.lag_s(), 2), round(pulse.late_s(MOST_S), 1)
    if not pulse.late:
        return OwnState(late_s=late_s, excused=pulse.excused)
    return OwnState(True, lag_s, late_s, pulse.excused, _LATE.format(lag=lag_s, late=late_s, excused=pulse.excused))


def _headline(incident: Incident | None, diagnosis: Diagnosis | None) -> Text:
    """The incident's, with the figures of now as long as its cause is what is found."""
    if diagnosis is None:
        return incident.headline if incident is not None else _STARTING
    now = diagnosis.causes[0].id if diagnosis.verdict == "bottleneck" and diagnosis.causes else ""
    return diagnosis.headline if incident is None or (now and now == incident.cause) else incident.headline


def _unseen(server: Server) -> FleetEngine:
    """A target that has not been asked yet."""
    engine = EngineSeen(server.name, "", server.target, None)
    return fleet_engine(server, engine)


def fleet_engine(server: Server, engine: EngineSeen) -> FleetEngine:
    """One engine as the fleet shows it."""
    diagnosis = engine.seen.diagnosis if engine.seen else None
    incident = engine.course.incident
    hurting = incident is not None and incident.state == "open"
    return FleetEngine(
        id=engine.id,
        name=server.name,
        target=server.target,
        engine=engine.course.engine,
        condition=_condition(server, engine),
        verdict=diagnosis.verdict if diagnosis else None,
        headline=_headline(incident, diagnosis),
        binding_limit=incident.cause if hurting and incident is not None else "",
        headroom=headroom(engine),
        forecast=engine.forecast,
        incident=incident.id if incident is not None else 0,
        since=incident.since if incident is not None else None,
        silenced=server.silenced,
        last_page=server.window.last,
        scrapes=server.scrapes,
        failed=server.failed,
        error=server.error,
        error_text=server.error_text,
        spark=spark(engine.figures),
        cost_s=round(engine.cost_s, 3),
    )


def _condition(server: Server, engine: EngineSeen) -> EngineCondition:
    incident = engine.course.incident
    if server.unreachable() is not None:
        return "unreachable"
    if incident is not None:
        return "incident" if incident.state == "open" else "warning"
    return "ok" if engine.seen is not None else "starting"


def headroom(engine: EngineSeen) -> Headroom | None:
    """The limit that is nearest to full now; None where no limit is known."""
    if not engine.figures:
        return None
    last = engine.figures[-1]
    limits = {limit.name: limit.value for limit in engine.seen.diagnosis.limits} if engine.seen else {}
    inside = last.running + (last.waiting if math.isfinite(last.waiting) else 0.0)
    found = [
        _headroom("kv_blocks", last.kv_ratio, 1.0, _KV),
        _headroom("max_num_seqs", last.running, limits.get("max_num_seqs"), _SEATS),
        _headroom("max_num_queued_reqs", inside, limits.get("max_num_queued_reqs"), _QUEUE),
    ]
    return min((one for one in found if one is not None), key=lambda one: one.left_ratio, default=None)


def _headroom(limit: str, used: float, of: float | None, text: Text) -> Headroom | None:
    if of is None or not of > 0 or not math.isfinite(used):
        return None
    return Headroom(limit, used, of, min(max(1 - used / of, 0.0), 1.0), text.format(used=used, of=of))


def spark(figures: Iterable[Figures]) -> Spark:
    """The last :data:`SPARK_POINTS` intervals."""
    seen = list(figures)[-SPARK_POINTS - 1 :]
    steps = list(pairwise(seen))
    return Spark(
        t=tuple(after.t for _, after in steps),
        running=values([after.running for _, after in steps]),
        waiting=values([after.waiting for _, after in steps]),
        kv_ratio=values([after.kv_ratio for _, after in steps]),
        ttft_s=values([mean_over(a, b, "ttft") for a, b in steps]),
        itl_s=values([mean_over(a, b, "itl") for a, b in steps]),
        tokens_per_s=values([increase(a.tokens, b.tokens) / (b.t - a.t) for a, b in steps]),
    )


def engine_view(server: Server, engine: EngineSeen, incidents: Sequence[Incident]) -> EngineView:
    """One engine in full, as of its last look."""
    shown = EngineView(
        engine=fleet_engine(server, engine),
        phases_t=spark(engine.figures).t,
        phases=tuple(_phase(name, list(engine.figures)) for name in _PHASES),
        burn=tuple(rate.rates(engine.figures[-1].t) for rate in engine.burn if engine.figures),
        usual=_usual(engine),
        incidents=tuple(replace(one, diagnosis=None) for one in incidents if one.engine_id == engine.id),
        links=links_view(server.witness.links, server.witness.host),
    )
    return shown if engine.seen is None else _with_look(shown, engine.seen)


def _usual(engine: EngineSeen) -> tuple[UsualFigure, ...]:
    known = engine.habits.at(engine.figures[-1].t) if engine.figures else {}
    return tuple(UsualFigure(id, h.mean, math.sqrt(h.spread / h.n), int(h.n)) for id, h in known.items() if h.n > 0)


def _with_look(shown: EngineView, seen: Seen) -> EngineView:
    diagnosis, picture = seen.diagnosis, seen.timeline
    return replace(
        shown,
        t=tuple(round(picture.start + float(t), 3) for t in picture.t) if picture else (),
        panels=panels(picture) if picture else (),
        onsets=tuple(_mark(cause, cause.onset, diagnosis.window.start) for cause in diagnosis.causes if cause.onset),
        limits=diagnosis.limits,
        diagnosis=diagnosis,
        ruled_out=diagnosis.ruled_out,
        coverage=diagnosis.coverage,
    )


def _mark(cause: Cause, onset: Onset, start: float) -> Mark:
    return Mark(cause.id, start + onset.seconds, start + onset.low, start + onset.high, cause.summary)


def panels(picture: Timeline) -> tuple[ViewPanel, ...]:
    """The timeline's panels with plain numbers."""
    return tuple(
        ViewPanel(panel.id, panel.title, panel.unit, tuple(_line(line) for line in panel.lines))
        for panel in picture.panels
    )


def _line(line: TimelineLine) -> ViewLine:
    return ViewLine(line.id, line.label, values(np.asarray(line.values).tolist()), line.limit, line.limit_label)


def _phase(name: str, figures: list[Figures]) -> Phase:
    steps = pairwise(figures[-SPARK_POINTS - 1 :])
    over = values([mean_over(figures[0], figures[-1], name)])[0] if len(figures) > 1 else None
    return Phase(name, _PHASES[name], over, values([mean_over(a, b, name) for a, b in steps]))
