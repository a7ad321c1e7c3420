"""A ticket's file to the recording that its numbers describe.

What is not stated is in no series. Where a ticket says nothing of the time, a case is shown for 45 seconds and the
reference before it for a minute; where it says nothing of the requests before and behind a hop, one comes a second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from whystall.errors import TooLittleData
from whystall.model.recording import ClientColumns, Contrast, Health, LogLine, Recording
from whystall.model.target import Target
from whystall.sources.gpu import GpuRow, gpu_columns

from .alone import decided, lines, without_page
from .comparison import Compared, compared
from .document import Ticket
from .figure import Figure
from .flags import command_line, kv_tokens
from .losses import STATED
from .page import START, table_of
from .phase import Phase, Span, phase_of
from .statements import Row, Statements, Values, statements_of
from .unread import unread, unread_text, unread_warnings
from .verdicts import contrasts_of

_REFERENCE_S = 60.0
_STATISTICS_S = 10.0  # vLLM's interval between two lines of statistics
_MOST_SCRAPES = 240
_MOST_REQUESTS = 20_000
_CALM_S = 20.0  # shown before and after a standstill
_CALM_TOKENS_PER_S = 20.0  # of one request there; a slow reader's pace
_FELT_GC_S = 1.0
_LONGEST_STALL_S = 86_400.0
_OF_GPUS = ("power", "gpu_util", "clock")
_RELEASE = re.compile(r"(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_HINT = (
    "State what ran and what came of it: running or concurrency, and tokens/s, requests/s or a latency with its unit; "
    "or a standstill's length."
)


def ticket_recording(ticket: Ticket, name: str = "ticket") -> Recording:
    """The recording that a ticket's numbers describe. Raises TooLittleData where they make no window."""
    stated = statements_of(ticket)
    argv = command_line(ticket.flags)
    found = compared(stated, ticket.version)
    if len(stated.rows) == 1 and any(f.low != f.high for f in stated.rows[0].values.values()):
        # One row with ranges stands for several lines.
        found = msgspec.structs.replace(found, incident=found.incident | stated.rows[0].values)
        stated = msgspec.structs.replace(stated, rows=())
    phases, scrapes = _window(stated, found, argv)
    window = all(any(phase.enough for phase in engine) for engine in phases) and _told(stated, found)
    contrasts = contrasts_of(found, ticket, stated, window=window)
    if not window and (decided(stated) or contrasts):
        alone = without_page(stated, contrasts, argv, name, _release(found, ticket))
        return msgspec.structs.replace(alone, warnings=unread_warnings(ticket, name))
    if not window:
        raise TooLittleData("the ticket's numbers make no window: " + _missing(stated) + _left(ticket), _HINT)
    end = START + scrapes[-1]
    incident = START + sum(phase.seconds for phase in phases[0][:-1]) + phases[0][-1].seconds / 2
    return Recording(
        target=Target(name, "recording"),
        metrics=table_of(phases, scrapes, _pool(stated, ticket)),
        gpu=gpu_columns(list(_gpus(stated, found, phases[0], ticket))),
        client=_client(found, scrapes[-1], phases[0][-1].rate),
        log=tuple(LogLine(incident, "ERROR", "EngineCore", None, text) for text in lines(stated)),
        version=_release(found, ticket),
        argv=argv,
        health=tuple(Health(end, status) for status in _health(ticket)),
        contrasts=tuple(_placed(c, end - phases[0][-1].seconds) for c in contrasts),
        warnings=unread_warnings(ticket, name),
    )


def _placed(contrast: Contrast, since: float) -> Contrast:
    """Two cases are shown one after the other; what is stated of no moment is from the start on."""
    return contrast if contrast.figure == STATED else msgspec.structs.replace(contrast, since=since)


def _told(stated: Statements, found: Compared) -> bool:
    """Whether more is stated than a bare speed or a bare silence: who ran, another figure, or a second case."""
    if stated.rows or found.reference is not None or found.beside is not None or stated.lines or "gc" in stated.common:
        return True
    names = {slot.partition(".")[0] for slot in found.incident}
    crowd = {"in_flight", "running", "batch", "waiting"} & names
    return bool(crowd) or len(names & {"generation_tps", "prompt_tps", "rate", "ttft", "itl", "tpot", "e2e"}) >= 2


def _left(ticket: Ticket) -> str:
    names = unread(ticket)
    return f"; not used: {unread_text(names)}" if names else ""


def _missing(stated: Statements) -> str:
    names = {slot.partition(".")[0] for case in stated.cases for slot in case.values} | set(stated.common)
    return f"it states {', '.join(sorted(names)[:8])} only" if names else "it states none that is known"


def _window(stated: Statements, found: Compared, argv: tuple[str, ...]) -> tuple[list[list[Phase]], list[float]]:
    """The phases of each engine, and the moments of the scrapes."""
    if stated.rows:
        return _of_rows(stated)
    phases = _of_cases(found, _seats(found.incident, argv))
    total = sum(phase.seconds for phase in phases)
    step = max(1.0, total / _MOST_SCRAPES)
    return [phases], [float(t) for t in np.arange(0.0, total + step / 2, step)]


def _of_cases(found: Compared, seats: float) -> list[Phase]:
    incident = _late(found.incident)
    collected = incident.get("gc")
    if collected is not None and collected.high >= _FELT_GC_S:
        incident.setdefault("stall", collected)  # nothing else runs while it lasts
    if "stall" in incident:
        return _standstill(incident, seats)
    if found.beside is not None:
        incident.setdefault("rate", Figure(1.0, 1.0))
        incident.setdefault("in_flight", Figure(1.0, 1.0))
    phases = [phase_of(incident, seats)]
    if found.reference is not None:
        before = phase_of(_early(found.reference), _seats(found.reference, ()), seconds=_REFERENCE_S)
        if before.enough:
            phases.insert(0, before)
    return phases


def _late(values: Values) -> Values:
    """A swept rate ends at its highest."""
    offered = values.get("offered_rate")
    return values | ({"offered_rate": Figure(offered.high, offered.high)} if offered else {})


def _early(values: Values) -> Values:
    offered, rate = values.get("offered_rate"), values.get("rate")
    if offered is None:
        return dict(values)
    low = {"offered_rate": Figure(offered.low, offered.low)}
    return values | low | ({"rate": Figure(offered.low, offered.low)} if rate and rate.low > offered.low else {})


def _standstill(values: Values, seats: float) -> list[Phase]:
    """What ran before, nothing for as long as is stated, and on as before."""
    calm = phase_of({n: f for n, f in values.items() if n != "duration"}, seats, seconds=_CALM_S)
    running = calm.running if calm.running.known else Span(1.0, 1.0)
    speed = calm.generation if calm.generation.middle > 0 else Span(_CALM_TOKENS_PER_S, _CALM_TOKENS_PER_S)
    itl = calm.itl or ((1.0, running.middle / speed.middle),)
    calm = msgspec.structs.replace(calm, running=running, generation=speed, itl=itl)
    still = Phase(
        seconds=min(max(values["stall"].high, 1.0), _LONGEST_STALL_S),
        running=Span(running.last, running.last),
        waiting=calm.waiting,
        kv=Span(calm.kv.last, calm.kv.last),
        generation=Span(0.0, 0.0),
        still=True,
    )
    return [calm, still, calm]


def _of_rows(stated: Statements) -> tuple[list[list[Phase]], list[float]]:
    rows = [row for row in stated.rows if row.values or row.engines]
    engines = max((len(v) for row in rows for v in row.engines.values()), default=1)
    seconds = _intervals(rows)
    scrapes = [0.0, *(float(t) for t in np.cumsum(seconds))]
    phases = [_row_phases(rows, seconds, stated, engine, engines) for engine in range(engines)]
    if "kv_at_preemption" in stated.common and engines == 1:
        phases[0].append(_thrash(phases[0][-1], stated.common["kv_at_preemption"].high))
        scrapes += [scrapes[-1] + _STATISTICS_S * k for k in (1, 2, 3)]
    return phases, scrapes


def _intervals(rows: Sequence[Row]) -> list[float]:
    """The time that each row is the mean of: since the row before it; a row with ranges stands for several."""
    found = []
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        gap = row.t - before.t if before is not None and row.t is not None and before.t is not None else math.nan
        found.append(gap if 0 < gap < 3600 else math.nan)
    usual = float(np.nanmedian(found)) if np.isfinite(found).any() else _STATISTICS_S
    return [gap if math.isfinite(gap) else usual for gap in found]


def _row_phases(
    rows: Sequence[Row], seconds: Sequence[float], stated: Statements, engine: int, engines: int
) -> list[Phase]:
    phases: list[Phase] = []
    lengths = {name: f for name, f in stated.common.items() if name in ("prompt", "output", "prompt_total", "requests")}
    for row, length in zip(rows, seconds, strict=True):
        own = {n: Figure(v, v) for n, of in row.engines.items() if engine < len(of) and (v := of[engine]) is not None}
        values = lengths | (own if engines > 1 else row.values)
        phase = phase_of(values, seconds=length)
        phases.append(_after(phases[-1], phase, row, rows) if phases else phase)
    return phases


def _after(before: Phase, phase: Phase, row: Row, rows: Sequence[Row]) -> Phase:
    """The row's gauges are those at its end. Who was swapped out since the row before was preempted (V0)."""
    earlier = rows[rows.index(row) - 1].values.get("swapped")
    swapped = row.values.get("swapped")
    gone = max(swapped.high - earlier.high, 0.0) / phase.seconds if swapped and earlier else phase.preemptions
    return msgspec.structs.replace(
        phase,
        running=Span(before.running.last, phase.running.last),
        waiting=Span(before.waiting.last, phase.waiting.last),
        kv=Span(before.kv.last, phase.kv.last),
        preemptions=gone,
    )


def _thrash(last: Phase, usage: float) -> Phase:
    """What is stated of the moment at which requests are preempted: one in each interval at the least."""
    return msgspec.structs.replace(
        last, seconds=3 * _STATISTICS_S, kv=Span(usage, usage), preemptions=1 / _STATISTICS_S
    )


def _seats(values: Values, argv: tuple[str, ...]) -> float:
    stated = values.get("seats")
    if stated is not None:
        return stated.high
    given = dict(pairwise(argv)).get("--max-num-seqs", "")
    return float(given) if given.isdigit() else math.nan


def _pool(stated: Statements, ticket: Ticket) -> dict[str, str]:
    """The size of the KV pool, where tokens are stated, in blocks of 16."""
    found = stated.common.get("kv_tokens")
    tokens = found.low if found else kv_tokens(ticket.flags)
    return {"block_size": "16", "num_gpu_blocks": str(int(tokens / 16))} if tokens else {}


def _gpus(stated: Statements, found: Compared, phases: Sequence[Phase], ticket: Ticket) -> Iterator[GpuRow]:
    """A sample each five seconds of each GPU of which anything is stated."""
    parts = [found.reference or {}, found.incident] if len(phases) > 1 else [found.incident]
    lists = {name: values for name, values in stated.counts.items() if name in _OF_GPUS}
    if not lists and not ticket.hardware and not any(s.partition(".")[0] in _OF_GPUS for p in parts for s in p):
        return
    at = 0.0
    for phase, values in zip(phases, (parts * len(phases))[: len(phases)], strict=True):
        for second in np.arange(at + 0.5, at + phase.seconds, 5.0):
            for gpu in range(max((len(v) for v in lists.values()), default=1)):
                own = {name: of[gpu] for name, of in lists.items() if gpu < len(of)}
                yield _sample(START + float(second), gpu, values, own, ticket.hardware)
        at += phase.seconds


def _sample(t: float, gpu: int, values: Values, own: dict[str, float], hardware: str) -> GpuRow:
    def of(name: str, scale: float = 1.0) -> float | None:
        if name in own:
            return own[name] * scale
        stated = next((values[slot] for slot in (name, f"{name}.mean") if slot in values), None)
        return stated.middle * scale if stated else None

    capped = of("power_capped")
    return GpuRow(
        t=t,
        gpu=gpu,
        name=hardware[:80],
        util_gpu_pct=of("gpu_util", 100.0),
        power_w=of("power"),
        power_limit_w=of("power_cap"),
        temp_c=of("temperature"),
        sm_clock_mhz=of("clock"),
        mem_clock_mhz=of("mem_clock"),
        throttle_reasons=None if capped is None else 0x4 if capped > 0.5 else 0,
    )


def _client(found: Compared, seconds: float, rate: float) -> ClientColumns | None:
    """The client's requests, where the ticket has its figures beside the server's: as many as the server's."""
    if found.beside is None:
        return None
    seen = phase_of(found.beside)
    n = int(min(max(np.nan_to_num(seconds * rate), 12), _MOST_REQUESTS))
    sent = START + np.arange(n) * seconds / n
    nothing = np.full(n, np.nan)
    ttft = np.full(n, sum(share * value for share, value in seen.ttft)) if seen.ttft else nothing
    itl = np.full(n, sum(share * value for share, value in seen.itl)) if seen.itl else nothing
    stated = "itl" in {slot.partition(".")[0] for slot in found.beside}
    itl = itl if stated else nothing
    e2e = np.full(n, seen.e2e)
    return ClientColumns(sent, sent, nothing, nothing, nothing, ttft, e2e, itl, itl, itl, (None,) * n)


def _release(found: Compared, ticket: Ticket) -> str:
    """The version of the incident where its case names one, else the ticket's."""
    named = next((m[1] for word in found.versions if (m := _RELEASE.search(word)) is not None), "")
    stated = _RELEASE.search(ticket.version) if ticket.engine.startswith("vllm") else None
    return named or (stated[1] if stated else "")


def _health(ticket: Ticket) -> Iterator[int]:
    for key, value in ticket.symptoms.items():
        if str(key).lower().startswith("health") and isinstance(value, int | str) and str(value).strip()[:3].isdigit():
            yield int(str(value).strip()[:3])
