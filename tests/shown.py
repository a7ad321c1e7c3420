"""What a watcher shows, made from recordings through the pipeline: nouns for tests of the dashboard."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from whystall import pipeline
from whystall.model.diagnosis import Engine
from whystall.model.fleet import (
    EngineCondition,
    EngineView,
    Fleet,
    FleetEngine,
    Headroom,
    Link,
    Mark,
    Phase,
    Spark,
    StoreState,
    ViewLine,
    ViewPanel,
)
from whystall.model.incident import Burn, Forecast, Incident, IncidentStep
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.reports.finding import Finding
from whystall.service.error_words import error_text
from whystall.sources.files.recording import read_recording

DATA = Path(__file__).parent / "data" / "recordings"
POINTS = 60


@cache
def recording(name: str) -> Recording:
    return read_recording(DATA / name)


@cache
def finding(name: str) -> Finding:
    return pipeline.diagnose(recording(name))


def numbers(values: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(float(f"{value:.4g}") if math.isfinite(value) else None for value in values)


def panels(name: str) -> tuple[ViewPanel, ...]:
    picture = finding(name).timeline
    assert picture is not None
    return tuple(
        ViewPanel(
            panel.id,
            panel.title,
            panel.unit,
            tuple(ViewLine(x.id, x.label, numbers(x.values.tolist()), x.limit, x.limit_label) for x in panel.lines),
        )
        for panel in picture.panels
    )


def times(name: str) -> tuple[float, ...]:
    picture = finding(name).timeline
    assert picture is not None
    return tuple(round(picture.start + float(t), 3) for t in picture.t)


def spark(name: str) -> Spark:
    lines = {line.id: line.values[-POINTS:] for panel in panels(name) for line in panel.lines}
    return Spark(
        t=times(name)[-POINTS:],
        running=lines.get("running", ()),
        waiting=lines.get("waiting", ()),
        kv_ratio=lines.get("kv_usage", ()),
        ttft_s=lines.get("ttft", ()),
        itl_s=lines.get("itl", ()),
        tokens_per_s=lines.get("generated", ()),
    )


def headroom(name: str) -> Headroom | None:
    seen = [value for value in spark(name).kv_ratio if value is not None]
    if not seen:
        return None
    text = Text("{used:.0%} of the KV blocks in use", "KV 块已用 {used:.0%}").format(used=seen[-1])
    return Headroom("kv_blocks", seen[-1], 1.0, min(max(1 - seen[-1], 0.0), 1.0), text)


def engine(id: str, name: str, incident: int = 0, condition: EngineCondition = "ok") -> FleetEngine:
    diagnosis = finding(name).diagnosis
    return FleetEngine(
        id=id,
        name=id,
        target=f"http://{id}:8000",
        engine=diagnosis.engine,
        condition="incident" if incident else condition,
        verdict=diagnosis.verdict,
        headline=diagnosis.headline,
        binding_limit=diagnosis.causes[0].id if incident else "",
        headroom=headroom(name),
        incident=incident,
        since=times(name)[0] if incident else None,
        last_page=times(name)[-1],
        scrapes=len(times(name)) + 1,
        spark=spark(name),
        cost_s=1.25,
    )


def lost(id: str) -> FleetEngine:
    return FleetEngine(
        id=id,
        name=id,
        target=f"http://{id}:8000",
        engine=Engine(id=""),
        condition="unreachable",
        verdict=None,
        headline=Text("No page: Unreachable", "没有指标页面：无法连接"),
        failed=8,
        error=(said := error_text("Unreachable", f"nothing answers at http://{id}:8000: Connection refused")).en,
        error_text=said,
    )


def warned(id: str, name: str) -> FleetEngine:
    text = Text("KV full in 4 min at this slope", "按此斜率 KV 将在 4 分钟后占满")
    found = Forecast("kv_blocks", 240.0, times(name)[-1], 0.8, 0.001, text)
    return replace(engine(id, name, condition="warning"), forecast=found, headline=text)


def view(shown: FleetEngine, name: str, incidents: tuple[Incident, ...] = ()) -> EngineView:
    diagnosis = finding(name).diagnosis
    start = diagnosis.window.start
    mean = {"queue": 1.9, "prefill": 0.12, "decode": 2.4}
    return EngineView(
        engine=shown,
        t=times(name),
        panels=panels(name),
        onsets=tuple(
            Mark(c.id, start + c.onset.seconds, start + c.onset.low, start + c.onset.high, c.summary)
            for c in diagnosis.causes
            if c.onset
        ),
        phases_t=times(name),
        phases=tuple(Phase(id, Text(id), value, spark_of(name, value)) for id, value in mean.items()),
        limits=diagnosis.limits,
        diagnosis=diagnosis,
        ruled_out=diagnosis.ruled_out,
        coverage=diagnosis.coverage,
        burn=(Burn("ttft_p95=1s", 18.2, 3.4),),
        incidents=tuple(replace(one, diagnosis=None) for one in incidents),
        links=links(times(name)[-1])[:2],
    )


def spark_of(name: str, scale: float) -> tuple[float, ...]:
    return tuple(scale * (1 + 0.2 * math.sin(i / 4)) for i in range(len(times(name))))


def incident(id: int, engine_id: str, name: str, *, over: bool = False, case: int = 0) -> Incident:
    diagnosis = finding(name).diagnosis
    since, end = times(name)[0] + 5, times(name)[-1]
    steps = [
        IncidentStep("began", since, Text("it began", "开始")),
        IncidentStep("opened", since + 20, diagnosis.headline),
    ]
    if over:
        steps.append(IncidentStep("recovered", end - 1, Text("recovered after 30 s", "30 秒后恢复")))
    return Incident(
        id=id,
        uid=f"uid{id}",
        key=f"{engine_id}/limit",
        engine_id=engine_id,
        target=f"http://{engine_id}:8000",
        engine=diagnosis.engine,
        kind="limit",
        state="recovered" if over else "open",
        verdict=diagnosis.verdict,
        headline=diagnosis.headline,
        since=since,
        opened=since + 20,
        updated=end,
        recovered=end - 1 if over else None,
        cause=diagnosis.causes[0].id,
        causes=tuple(cause.id for cause in diagnosis.causes),
        first_step=diagnosis.remedies[0].text if diagnosis.remedies else Text(""),
        steps=tuple(steps),
        case=case,
        diagnosis=diagnosis,
    )


def links(at: float) -> tuple[Link, ...]:
    """A way in order, one that is slower, one that gives nothing."""
    t = tuple(at - 15.0 * n for n in range(20))[::-1]
    fine, slow = (0.0004,) * 20, (0.0005,) * 19 + (0.021,)
    return (
        Link("gpu9:9400", at, "away", None, None, None, 0.05, 0.0005, t, (*fine[:19], None)),
        Link("gpu8:9400", at, "slower", 0.019, 0.021, 0.03, 0.2, 0.0005, t, slow),
        Link("gpu7:9400", at, "ok", 0.0003, 0.0004, 0.0009, 0.0, 0.0004, t, fine),
    )


def fleet(*engines: FleetEngine) -> Fleet:
    newest = max((one.last_page or 0.0 for one in engines), default=0.0)
    return Fleet(
        at=newest + 3,
        started=newest - 3600,
        version="0.1",
        engines=engines,
        store=StoreState("memory"),
        links=links(newest) if engines else (),
    )
