"""Reading the pages of an emulated server."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

START = 1_790_000_000.0


def samples(page: str) -> dict[str, float]:
    """Samples by name and labels, as the reference parser reads them."""
    return {
        f"{s.name}{sorted(s.labels.items())}": s.value for f in text_string_to_metric_families(page) for s in f.samples
    }


def total(page: str, name: str) -> float:
    return sum(value for key, value in samples(page).items() if key.startswith(f"{name}["))
