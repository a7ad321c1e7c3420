"""The ``http_*`` series of the page: what the API process's own instrumentation counts."""

from __future__ import annotations

from .meters import Histogram
from .page import Labels, PageTemplate

_HIGHR = "http_request_duration_highr_seconds"
_BY_HANDLER = "http_request_duration_seconds"


class HttpMeters:
    """Answers by handler, method and status class (``2xx``), and how long they took."""

    def __init__(self, template: PageTemplate) -> None:
        self._bounds = template.bounds(_BY_HANDLER)
        self._all = Histogram(template.bounds(_HIGHR))
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._answers: dict[tuple[str, str, str], int] = {}
        self._bytes: dict[tuple[str, str], float] = {}

    def add(self, handler: str, method: str, status: str, seconds: float, received_bytes: float = 0.0) -> None:
        self._answers[handler, method, status] = self._answers.get((handler, method, status), 0) + 1
        self._all.add([seconds])
        self._durations.setdefault((handler, method), Histogram(self._bounds)).add([seconds])
        self._bytes[handler, method] = self._bytes.get((handler, method), 0.0) + received_bytes

    def labels(self) -> list[Labels]:
        return [{"handler": h, "method": m, "status": s} for h, m, s in self._answers]

    def value(self, family: str, part: str, labels: Labels) -> float | None:
        """The value of one ``http_*`` sample."""
        if family == _HIGHR:
            return self._all.part(part)
        handler = labels.get("handler", "")
        if family == _BY_HANDLER:
            found = self._durations.get((handler, labels.get("method", "")))
            return found.part(part) if found else 0.0
        matching = [n for (h, m, s), n in self._answers.items() if h == handler and labels.get("status", s) == s]
        if part == "sum":  # streams have no length beforehand, so real servers count none of their bytes
            sent = family.startswith("http_response")
            return 0.0 if sent else sum(size for (h, _), size in self._bytes.items() if h == handler)
        return float(sum(matching))
