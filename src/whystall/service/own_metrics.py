"""What whystall says of itself and of what it found, as an OpenMetrics page.

Source of the format: OpenMetrics 1.0.0 (prometheus.io/docs/specs/om/open_metrics_spec).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import psutil

from .links import series
from .lookout import Lookout
from .server import EngineSeen, Server
from .watcher import Watcher

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
Sample = tuple[str, dict[str, str], float]
Value = Callable[[Server, EngineSeen], bool | None]


class Family(NamedTuple):
    """One metric: ``kind`` is gauge or counter, ``samples`` are suffix of the name, labels and value."""

    name: str
    kind: str
    text: str
    samples: tuple[Sample, ...]

    def lines(self) -> list[str]:
        """As OpenMetrics has it."""
        head = [f"# TYPE {self.name} {self.kind}", f"# HELP {self.name} {self.text}"]
        return head + [_line(self.name + end, labels, value) for end, labels, value in self.samples]


def page(watcher: Watcher) -> str:
    """The whole page, ended by its mark."""
    lines = [line for family in families(watcher) for line in family.lines()]
    return "\n".join([*lines, "# EOF", ""])


def families(watcher: Watcher) -> Iterator[Family]:
    """What was found, and what watching costs."""
    yield from _findings(watcher.lookout)
    yield from _own(watcher)


def _findings(lookout: Lookout) -> Iterator[Family]:
    pairs = [(server, engine) for server in lookout.servers.values() for engine in server.engines.values()]
    yield _family("whystall_up", "gauge", "Whether the engine's last scrape gave a page.", _each(pairs, _up))
    yield _family(
        "whystall_incident",
        "gauge",
        "Open incidents: 1 with its cause and state.",
        (s for p in pairs for s in _open(*p)),
    )
    yield _family(
        "whystall_finding_probability",
        "gauge",
        "Probability of each cause that the last diagnosis named.",
        (s for p in pairs for s in _causes(*p)),
    )
    yield _family("whystall_healthy", "gauge", "Whether the last diagnosis was healthy.", _each(pairs, _healthy))
    yield _family(
        "whystall_slo_burn_rate",
        "gauge",
        "How many times as fast as promised an SLO is used up.",
        (s for p in pairs for s in _burns(*p)),
    )


def _own(watcher: Watcher) -> Iterator[Family]:
    servers = watcher.lookout.servers.values()
    process = psutil.Process()
    cpu = process.cpu_times()
    children = sum(engine.cost_s for server in servers for engine in server.engines.values())
    yield _family("whystall_scrapes", "counter", "Pages read.", [("_total", {}, float(watcher.scrapes))])
    yield _family(
        "whystall_scrapes_failed", "counter", "Scrapes without a page.", [("_total", {}, float(watcher.failures))]
    )
    yield _family("whystall_looks", "counter", "Diagnoses made.", [("_total", {}, float(watcher.looks))])
    yield _family("whystall_looks_cpu_seconds", "counter", "CPU that diagnoses took.", [("_total", {}, children)])
    yield _family(
        "whystall_cpu_seconds", "counter", "CPU of the watching process.", [("_total", {}, cpu.user + cpu.system)]
    )
    yield _family("whystall_resident_bytes", "gauge", "Memory of it.", [("", {}, float(process.memory_info().rss))])
    yield from _pulse(watcher)
    yield from _links(watcher)
    yield _family(
        "whystall_store_held", "gauge", "Scrapes that could not be written yet.", [("", {}, float(watcher.store.held))]
    )
    yield _family("whystall_uptime_seconds", "gauge", "Since it started.", [("", {}, time.time() - watcher.started)])


def _links(watcher: Watcher) -> Iterator[Family]:
    """The ways to the other daemons that are named."""
    found = [pair for one in watcher.links.latest().values() for pair in series(one) if math.isfinite(pair[1])]
    texts = {
        "whystall_link_rtt_seconds": "Round trips to another daemon in the last round of probes.",
        "whystall_link_loss_ratio": "Share of that round's probes that were lost.",
    }
    for name, text in texts.items():
        yield _family(name, "gauge", text, [("", dict(key.labels), value) for key, value in found if key.name == name])


def _pulse(watcher: Watcher) -> Iterator[Family]:
    """Whether the watch itself comes to do its work."""
    pulse = watcher.lookout.pulse
    counters = {
        "whystall_pages_seconds": ("Time that taking pages in took.", watcher.pages_s),
        "whystall_late_seconds": ("Time in which the watch's own loop was late.", pulse.late_total_s),
        "whystall_late_beats": ("Beats of its loop that came late.", float(pulse.late_beats)),
        "whystall_scrapes_excused": ("Scrapes that ran out of time while it was late itself.", float(pulse.excused)),
    }
    for name, (text, value) in counters.items():
        yield _family(name, "counter", text, [("_total", {}, value)])
    yield _family(
        "whystall_loop_lag_seconds",
        "gauge",
        "How late its loop was at worst in the last minute.",
        [("", {}, pulse.lag_s())],
    )


def _labels(server: Server, engine: EngineSeen) -> dict[str, str]:
    return {"target": server.name, "engine": engine.label, "model": engine.course.engine.model}


def _each(pairs: Iterable[tuple[Server, EngineSeen]], value: Value) -> Iterator[Sample]:
    for server, engine in pairs:
        found = value(server, engine)
        if found is not None:
            yield "", _labels(server, engine), float(found)


def _up(server: Server, _engine: EngineSeen) -> bool:
    return not server.error


def _healthy(_server: Server, engine: EngineSeen) -> bool | None:
    return engine.seen.diagnosis.verdict == "healthy" if engine.seen else None


def _open(server: Server, engine: EngineSeen) -> Iterator[Sample]:
    incident = engine.course.incident
    if incident is not None:
        more = {"cause": incident.cause, "kind": incident.kind, "state": incident.state}
        yield "", {**_labels(server, engine), **more}, 1.0


def _causes(server: Server, engine: EngineSeen) -> Iterator[Sample]:
    for cause in engine.seen.diagnosis.causes if engine.seen else ():
        yield "", {**_labels(server, engine), "cause": cause.id, "role": cause.role}, cause.probability


def _burns(server: Server, engine: EngineSeen) -> Iterator[Sample]:
    for rate in engine.burn if engine.figures else ():
        burn = rate.rates(engine.figures[-1].t)
        for window, value in (("5m", burn.short), ("1h", burn.long)):
            if value is not None:
                yield "", {**_labels(server, engine), "promise": burn.promise, "window": window}, value


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Family:
    return Family(name, kind, text, tuple(samples))


def _line(name: str, labels: dict[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
