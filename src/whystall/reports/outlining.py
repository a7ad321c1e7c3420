"""Diagnosis -> Outline: every section of a report, put into words."""

from __future__ import annotations

from whystall.model.diagnosis import Diagnosis, GpuMemory, Impact, MemoryPart

from .answer import MARKS, answer
from .figures import day_and_clock, duration, figure, percent, seen
from .finding import Finding
from .outline import Fact, MemoryBar, Outline, PartRow, Table
from .outlining_causes import cause_blocks, evidence_rows
from .outlining_tables import tables
from .phrases import say, say_or
from .printable import clean
from .worded import paragraphs, told_by

IMPACT_UNITS = {
    "ttft_p95_s": "s",
    "ttft_mean_s": "s",
    "itl_p95_s": "s",
    "itl_mean_s": "s",
    "e2e_p95_s": "s",
    "queue_s": "s",
    "tokens_per_s": "tok/s",
    "errors_per_s": "1/s",
    "rejected_per_s": "1/s",
    "requests_affected_ratio": "ratio",
}
MOST_NAMES = 8  # of metrics that our tables lack; the JSON has all


def outline(finding: Finding, lang: str) -> Outline:
    """What a report on ``finding`` says in ``lang``."""
    diagnosis = finding.diagnosis
    others = tuple(outline(Finding(other), lang) for other in _others(diagnosis))
    return Outline(
        lang=lang,
        name=engine_name(diagnosis),
        answer=answer(diagnosis, lang),
        facts=_facts(diagnosis, lang),
        impact=_impact(diagnosis.impact, lang),
        impact_title=say("impact_healthy" if diagnosis.verdict == "healthy" else "impact", lang),
        impact_note=_impact_note(diagnosis.impact, lang),
        causes=cause_blocks(diagnosis, lang),
        evidence=evidence_rows(diagnosis, lang),
        tables=tables(diagnosis, lang),
        memory=_memory(diagnosis.memory, lang),
        signals=say("comma", lang).join(
            say_or(f"signal_{signal}", signal, lang) for signal in diagnosis.coverage.signals
        )
        or say("signals_none", lang),
        unknown_names=_unknown_names(diagnosis.coverage.unknown_names, lang),
        engines=_engines(diagnosis, lang),
        wording=paragraphs(diagnosis.wording),
        worded_by=told_by(diagnosis.wording, lang),
        others=others,
    )


def engine_name(diagnosis: Diagnosis) -> str:
    """What tells this engine from the others of its page."""
    engine = diagnosis.engine
    return " ".join(clean(part) for part in (engine.id, engine.model) if part) or clean(engine.name)


def _others(diagnosis: Diagnosis) -> tuple[Diagnosis, ...]:
    # The outer diagnosis is the worst engine's: it is shown in full already.
    return tuple(other for other in diagnosis.engines if other.engine != diagnosis.engine)


def _facts(diagnosis: Diagnosis, lang: str) -> tuple[Fact, ...]:
    engine, window = diagnosis.engine, diagnosis.window
    version = clean(engine.version) or say("version_unknown", lang)
    pairs = (
        ("target", clean(diagnosis.target)),
        ("engine", f"{clean(engine.name)} {version}"),
        ("engine_id", clean(engine.id)),
        ("model", clean(engine.model)),
        ("window", _window(diagnosis, lang) if window.seconds > 0 else ""),
    )
    return tuple(Fact(say(key, lang), value) for key, value in pairs if value)


def _window(diagnosis: Diagnosis, lang: str) -> str:
    window = diagnosis.window
    interval = say("window_interval", lang, interval=duration(window.interval_s)) if window.interval_s else ""
    value = say("window_value", lang, seconds=duration(window.seconds), scrapes=window.scrapes, interval=interval)
    return f"{day_and_clock(window.start)} +{value}" if lang == "en" else f"{day_and_clock(window.start)} 起 {value}"


def _impact(impact: Impact, lang: str) -> tuple[Fact, ...]:
    values = ((name, unit, getattr(impact, name)) for name, unit in IMPACT_UNITS.items())
    return tuple(Fact(say(name, lang), figure(value, unit, lang)) for name, unit, value in values if seen(value))


def _impact_note(impact: Impact, lang: str) -> str:
    return say("impact_over", lang, seconds=duration(impact.window_s)) if impact.window_s else ""


def _memory(memory: GpuMemory | None, lang: str) -> MemoryBar | None:
    if memory is None or not memory.parts:
        return None
    # Parts that claim more than there is share the bar all the same.
    whole = max(memory.total_bytes or 0.0, sum(part.bytes for part in memory.parts))
    if not whole > 0:
        return None
    parts = tuple(_part(part, whole, lang) for part in memory.parts)
    total = memory.total_bytes
    known = say("memory_total", lang, total=figure(total, "bytes", lang)) if total else say("memory_no_total", lang)
    return MemoryBar(parts, known)


def _part(part: MemoryPart, whole: float, lang: str) -> PartRow:
    share = min(1.0, max(0.0, part.bytes / whole))
    label = say_or(f"part_{part.id}", clean(part.id), lang)
    size = figure(part.bytes, "bytes", lang)
    return PartRow(
        clean(part.id), label, size, share, percent(share), say(part.known, lang), clean(part.text.in_(lang))
    )


def _unknown_names(names: tuple[str, ...], lang: str) -> str:
    shown = [clean(name) for name in names[:MOST_NAMES]]
    rest = len(names) - len(shown)
    return say("comma", lang).join(shown + ([say("more", lang, count=rest)] if rest else []))


def _engines(diagnosis: Diagnosis, lang: str) -> Table | None:
    if len(diagnosis.engines) < 2:
        return None
    rows = tuple(
        (engine_name(one), f"{MARKS[one.verdict]} {say(one.verdict, lang)}", clean(one.headline.in_(lang)))
        for one in diagnosis.engines
    )
    columns = (say("engine", lang), say("verdict", lang), say("headline", lang))
    return Table("engines", say("engines", lang), columns, rows)
