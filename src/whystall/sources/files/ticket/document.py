"""A ticket's file to plain values: size, depth and aliases are bounded, and only statements of what was seen are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from whystall.errors import InputError, TooLarge

MAX_BYTES = 256 * 1024
# What was seen, and on what. What somebody concluded (a title, a cause, a class, a fix) is not read.
_FACTS = ("engine", "hardware", "model", "launch_flags", "workload", "symptoms")
_HINT = "A ticket is YAML with `symptoms:` (numbers by name) and, where known, `workload:`, `launch_flags:`, `engine:`."


class Ticket(msgspec.Struct, frozen=True):
    """What a ticket states. ``symptoms`` and ``workload`` are trees of names and values as they were written."""

    symptoms: dict[str, Any]
    workload: dict[str, Any] = {}
    flags: tuple[str, ...] = ()
    version: str = ""
    engine: str = ""
    hardware: str = ""
    model: str = ""


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a few of them within each other make a file of one kilobyte gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_document(path: Path) -> Ticket:
    """The statements of a ticket. Raises InputError where it is none, TooLarge over 256 KB."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise TooLarge(f"{path.name} has {size:,} bytes, more than a ticket of {MAX_BYTES:,}", _HINT)
        found = yaml.load(path.read_bytes(), Loader=_Loader)
    except OSError as error:
        raise InputError(f"the ticket {path} cannot be read: {error.strerror}", "Check the path.") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"the ticket {path.name} is no YAML that is read: {_first_line(error)}", _HINT) from error
    return ticket_of(found, path.name)


def ticket_of(found: Any, name: str = "the ticket") -> Ticket:
    """A ticket of decoded YAML. Raises InputError where it states no symptoms."""
    symptoms = found.get("symptoms") if isinstance(found, dict) else None
    if not isinstance(symptoms, dict):
        raise InputError(f"{name} has no `symptoms:`", _HINT)
    facts = {key: found.get(key) for key in _FACTS}
    engine = facts["engine"] if isinstance(facts["engine"], dict) else {}
    workload, flags = facts["workload"], facts["launch_flags"]
    return Ticket(
        symptoms=symptoms,
        workload=workload if isinstance(workload, dict) else {},
        flags=tuple(str(flag) for flag in flags) if isinstance(flags, list) else (),
        version=str(engine.get("version") or ""),
        engine=str(engine.get("name") or ""),
        hardware=str(facts["hardware"] or ""),
        model=str(facts["model"] or ""),
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
