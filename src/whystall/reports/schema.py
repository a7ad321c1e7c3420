"""The JSON Schema of everything that ``--json`` prints, made from the structs.

``python -m whystall.reports.schema`` writes the published files again after a struct has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import UsageError
from whystall.model.capacity import Capacity
from whystall.model.case import Case, CaseExport, CaseList, SimilarCases, both_schema_hook
from whystall.model.checkup import Checkup
from whystall.model.comparison import Comparison
from whystall.model.dashboard import Catalogue, TraceFiles, WhatIfForm
from whystall.model.diagnosis import Diagnosis
from whystall.model.explanation import Explanation
from whystall.model.failure import Failure
from whystall.model.fix import Fix
from whystall.model.fleet import EngineView, Fleet, IncidentCharts
from whystall.model.health import HealthReport
from whystall.model.incident import Happening, Incident, IncidentList
from whystall.model.lab_result import LabResult
from whystall.model.prediction import WhatIf
from whystall.model.soak import Soak
from whystall.model.text import schema_hook
from whystall.model.trial import Trial
from whystall.profiles.capture import Capture
from whystall.profiles.diff import TraceDiff
from whystall.profiles.report import TraceReport
from whystall.profiles.request_timeline import RequestTimeline

from .trace_page import TracePage

NOUNS: dict[str, type[msgspec.Struct]] = {
    "case": Case,
    "case_export": CaseExport,
    "cases": CaseList,
    "catalogue": Catalogue,
    "comparison": Comparison,
    "diagnosis": Diagnosis,
    "doctor": Checkup,
    "engine": EngineView,
    "error": Failure,
    "explanation": Explanation,
    "fix": Fix,
    "fleet": Fleet,
    "happening": Happening,
    "health": HealthReport,
    "incident": Incident,
    "incident_charts": IncidentCharts,
    "incidents": IncidentList,
    "lab": LabResult,
    "profile": Capture,
    "similar": SimilarCases,
    "soak": Soak,
    "stress": Capacity,
    "trace": TraceReport,
    "trace_diff": TraceDiff,
    "trace_files": TraceFiles,
    "trace_page": TracePage,
    "trace_request": RequestTimeline,
    "trial": Trial,
    "whatif": WhatIf,
    "whatif_form": WhatIfForm,
}
BOTH_LANGUAGES = ("case_export",)  # whose texts are objects: another book's reader may speak another language
FOLDER = Path(__file__).parent / "schemas"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``name``. What this version prints has every property that the schema names.

    Raises :class:`~whystall.errors.UsageError` where ``name`` is not published.
    """
    if name not in NOUNS:
        raise UsageError(f"{name!r} has no schema", f"Published are {', '.join(NOUNS)}.")
    kind, hook = NOUNS[name], both_schema_hook if name in BOTH_LANGUAGES else schema_hook
    (root,), parts = msgspec.json.schema_components([kind], schema_hook=hook, ref_template="#/$defs/{name}")
    defs = {part: _all_required(body) for part, body in sorted(parts.items())}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"whystall.{name}/1"}
    return {**head, **root, "$defs": defs}


def published(name: str) -> str:
    """The text of the published file."""
    return msgspec.json.format(msgspec.json.encode(schema(name)), indent=2).decode() + "\n"


def write_all(folder: Path = FOLDER) -> None:
    """Write every schema into ``folder``."""
    for name in NOUNS:
        (folder / f"{name}.json").write_text(published(name), encoding="utf-8")


def _all_required(body: dict[str, Any]) -> dict[str, Any]:
    # msgspec asks only for fields without a default; we always write all of them, and a reader may rely on that.
    required = {"required": list(body["properties"])} if "properties" in body else {}
    shown = {name: _without_default(field) for name, field in body.get("properties", {}).items()}
    return {**body, **({"properties": shown} if shown else {}), **required}


def _without_default(field: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in field.items() if key != "default"}


if __name__ == "__main__":
    write_all()
