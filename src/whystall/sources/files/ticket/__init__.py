"""A ticket: what people wrote down of an incident, as the short recording that its numbers describe.

YAML is read only where a ticket is: the parser is imported then.
"""

from __future__ import annotations

from pathlib import Path

from whystall.model.recording import Recording

SUFFIXES = (".yaml", ".yml")


def is_ticket(path: Path) -> bool:
    """Whether a path names a ticket: a YAML file."""
    return path.suffix.lower() in SUFFIXES and path.is_file()


def read_ticket(path: Path) -> Recording:
    """The recording of a ticket's file. Raises InputError, TooLarge, and TooLittleData where its numbers make no window."""
    from .document import read_document
    from .read import ticket_recording

    return ticket_recording(read_document(path), str(path))
