"""Findings, incidents and own metrics as OTLP has them.

Source: opentelemetry.io/docs/specs/otlp and its protobuf definitions 1.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from whystall import __version__
from whystall.model.incident import Happening
from whystall.reports.incident_line import incident_line

from .own_metrics import Family

_SEVERITY = {
    "open": (SeverityNumber.SEVERITY_NUMBER_ERROR, "ERROR"),
    "warning": (SeverityNumber.SEVERITY_NUMBER_WARN, "WARN"),
    "recovered": (SeverityNumber.SEVERITY_NUMBER_INFO, "INFO"),
}


def metrics_message(families: Iterable[Family], now: float, started: float) -> bytes:
    """One export of all metrics: gauges, and counters as cumulative sums since ``started`` (unix seconds)."""
    metrics = [_metric(family, _nanos(now), _nanos(started)) for family in families if family.samples]
    scope = ScopeMetrics(scope=_scope(), metrics=metrics)
    message = ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(resource=_resource(), scope_metrics=[scope])]
    )
    return bytes(message.SerializeToString())


def logs_message(happenings: Iterable[Happening], lang: str) -> bytes:
    """One log record for each thing that became of an incident; its cause, engine and state are attributes."""
    scope = ScopeLogs(scope=_scope(), log_records=[_record(one, lang) for one in happenings])
    message = ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=_resource(), scope_logs=[scope])])
    return bytes(message.SerializeToString())


def _metric(family: Family, now: int, started: int) -> Metric:
    points = [
        NumberDataPoint(
            attributes=_attributes(labels),
            time_unix_nano=now,
            start_time_unix_nano=started if family.kind == "counter" else 0,
            as_double=value,
        )
        for _, labels, value in family.samples
    ]
    if family.kind == "counter":
        cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        total = Sum(data_points=points, aggregation_temporality=cumulative, is_monotonic=True)
        return Metric(name=family.name, description=family.text, sum=total)
    return Metric(name=family.name, description=family.text, gauge=Gauge(data_points=points))


def _record(happening: Happening, lang: str) -> LogRecord:
    incident = happening.incident
    number, word = _SEVERITY[incident.state]
    told = {
        "event.name": "whystall.incident",
        "whystall.incident.id": str(incident.id),
        "whystall.incident.uid": incident.uid,
        "whystall.incident.what": happening.what,
        "whystall.incident.state": incident.state,
        "whystall.incident.kind": incident.kind,
        "whystall.engine": incident.engine_id,
        "whystall.target": incident.target,
        "whystall.model": incident.engine.model,
        "whystall.cause": incident.cause,
        "whystall.first_step": incident.first_step.in_(lang),
        "whystall.silenced": incident.silenced,
    }
    return LogRecord(
        time_unix_nano=_nanos(incident.updated),
        observed_time_unix_nano=_nanos(incident.updated),
        severity_number=number,
        severity_text=word,
        body=AnyValue(string_value=incident_line(happening, lang)),
        attributes=_attributes({name: text for name, text in told.items() if text}),
    )


def _attributes(of: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=_utf8(text))) for name, text in of.items()]


def _utf8(text: str) -> str:
    """A label of a server may hold half a character, which protobuf does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _resource() -> Resource:
    return Resource(attributes=_attributes({"service.name": "whystall", "service.version": __version__}))


def _scope() -> InstrumentationScope:
    return InstrumentationScope(name="whystall", version=__version__)


def _nanos(seconds: float) -> int:
    return max(int(seconds * 1e9), 0)
