"""Published incidents that ship as cases. ``benchmarks/cases/examples.py`` makes them by running the emulator."""

from __future__ import annotations

from importlib import resources

from whystall.model.case import Case

from .exchange import parsed

FILE_NAME = "examples.json"


def example_cases() -> tuple[Case, ...]:
    """The cases, with what their write-ups got right and wrong. Raises :class:`~whystall.errors.NotCases`."""
    return parsed((resources.files("whystall.cases") / FILE_NAME).read_bytes(), FILE_NAME)
