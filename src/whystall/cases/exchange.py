"""Cases as a file: written for another book, and read from one with every doubt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whystall.errors import NotCases, TooLarge
from whystall.model.case import Case, CaseExport, both_languages, diagnosis_of, prediction_of, trial_of
from whystall.model.text import decode_hook

MAX_BYTES = 64_000_000
_UID = re.compile(r"[0-9a-f]{32}")
_HINT = "Give a file that whystall cases export wrote."


def exported(cases: Iterable[Case]) -> str:
    """The cases as JSON of schema ``whystall.case_export/1``."""
    body = msgspec.json.encode(CaseExport(tuple(cases)), enc_hook=both_languages)
    return msgspec.json.format(body, indent=2).decode()


def read_export(path: Path) -> tuple[Case, ...]:
    """The cases of a file that :func:`exported` wrote.

    Raises :class:`~whystall.errors.NotCases` where it is no such file, ``TooLarge`` over ``MAX_BYTES``.
    """
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotCases(f"{path} cannot be read: {error.strerror}", "Check the name and the file's mode.") from error
    if len(body) > MAX_BYTES:
        raise TooLarge(f"{path} is over {MAX_BYTES:,} bytes", "Export fewer cases at a time.")
    return parsed(body, str(path))


def parsed(body: bytes, name: str) -> tuple[Case, ...]:
    """The cases of an export's text. Raises :class:`~whystall.errors.NotCases`; ``name`` is what the error calls it."""
    try:
        export = msgspec.json.decode(body, type=CaseExport, dec_hook=decode_hook)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotCases(f"{name} holds no cases: {error}", _HINT) from error
    for at, case in enumerate(export.cases, 1):
        _require_sound(case, f"case {at} of {name}")
    return export.cases


def _require_sound(case: Case, name: str) -> None:
    if not _UID.fullmatch(case.uid):
        raise NotCases(f"{name} has no uid of 32 hex digits", _HINT)
    try:
        for part in (case.diagnosis, *filter(None, (case.after,))):
            diagnosis_of(part)
        prediction_of(case)
        trial_of(case)
    except (msgspec.ValidationError, RecursionError) as error:
        raise NotCases(f"{name} cannot be read: {error}", _HINT) from error
