"""A ticket's tree of symptoms to what it states: figures by case, rows over time, lines of a log."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .document import Ticket
from .figure import SECONDS, Figure, figure
from .names import UNSAID, Name, name_of

_MAX_DEPTH = 8
_MAX_CASES = 200
_MAX_ROWS = 2000
_ROWS = ("log_stats", "stats", "metrics", "stats_log", "scrapes", "rows")
_LINES = re.compile(r"(?:^|_)(?:log|logs|error|message|warning|dmesg|exception|traceback|http_\d{3})(?:_|$)")
_IN_OUT = re.compile(r"(\d{1,9}) in / (\d{1,9}) out")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
_XID = re.compile(r"(?:^|_)xid_?(\d{0,4})")
_VARIABLES = (
    "in_flight",
    "batch",
    "prompt",
    "offered_rate",
    "requests",
    "output",
    "seats",
    "budget",
    "output_spread",
    "prompt_spread",
)

Values = dict[str, Figure]  # by quantity, or quantity.statistic


class Row(msgspec.Struct, frozen=True):
    """One line of a server's statistics. ``t`` seconds of the day, None where it is not said.

    ``engines`` has the quantities that are stated for each engine, in their order.
    """

    t: float | None
    values: Values
    engines: dict[str, tuple[float | None, ...]] = {}


class Case(msgspec.Struct, frozen=True):
    """What is stated of one case of a comparison: the words that name it, and its figures."""

    words: tuple[str, ...]
    values: Values


class Statements(msgspec.Struct, frozen=True):
    """All of a ticket. ``common`` are figures of no particular case; the workload's are among them."""

    common: Values
    cases: tuple[Case, ...]
    rows: tuple[Row, ...]
    lines: tuple[str, ...]
    counts: dict[str, tuple[float, ...]] = {}  # lists of numbers with no other meaning: of GPUs, of ranks


def statements_of(ticket: Ticket) -> Statements:
    """What the ticket states, in SI units."""
    reader = _Reader()
    reader.tree(ticket.symptoms, ())
    for key, value in ticket.workload.items():
        reader.workload(str(key), value)
    for values in reader.cases.values():
        if "total_tps" in values and "generation_tps" not in values:
            values["generation_tps"] = values.pop("total_tps")  # of all requests, not of prompts and outputs
    common = reader.cases.pop((), {})
    common = {name: f for name, f in reader.of_workload.items() if name not in common} | common
    cases = tuple(Case(words, values) for words, values in reader.cases.items() if values)
    return Statements(common, cases, tuple(reader.rows), tuple(reader.lines), reader.counts)


class _Reader:
    """Walks the tree; nothing of it is trusted to be of the expected kind."""

    def __init__(self) -> None:
        self.cases: dict[tuple[str, ...], Values] = {(): {}}
        self.of_workload: Values = {}
        self.rows: list[Row] = []
        self.lines: list[str] = []
        self.counts: dict[str, tuple[float, ...]] = {}

    def tree(self, found: dict[Any, Any], words: tuple[str, ...]) -> None:
        if len(words) > _MAX_DEPTH * 4 or len(self.cases) > _MAX_CASES:
            return
        swept = _swept(found)
        for key, value in found.items():
            key = str(key)
            if isinstance(value, dict):
                self._branch(key, value, words)
            elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                self._table(key, value, words)
            elif isinstance(value, list):
                self._list(key, value, words, swept)
            else:
                self._leaf(key, value, words)

    def workload(self, key: str, value: Any) -> None:
        """What was asked of the server: the largest of several."""
        name = name_of(key)
        values = [f for item in (value if isinstance(value, list) else [value]) if (f := figure(item)) is not None]
        if isinstance(value, str) and (lengths := _IN_OUT.match(value)):
            self.of_workload.setdefault("prompt", Figure(float(lengths[1]), float(lengths[1])))
        elif name.quantity and values and (top := _si(max(values, key=lambda f: f.high), name)) is not None:
            self.of_workload.setdefault(_slot(name), top)

    def _branch(self, key: str, value: dict[Any, Any], words: tuple[str, ...]) -> None:
        name = name_of(key)
        inner = (*words, *name.words)
        if name.in_flight is not None:
            inner = (*inner, f"c{name.in_flight}")
            self._case(inner)["in_flight"] = Figure(name.in_flight, name.in_flight)
        if name.quantity in _VARIABLES and len(name.words) == 1 and (at := figure(name.words[0])) is not None:
            inner = (*words, f"{name.quantity}={at.middle:g}")  # seqs_8: {…}
            self._case(inner)[name.quantity] = at
            self.tree(value, inner)
        elif name.quantity and any(figure(item) is not None for item in value.values()):
            self._by_case(name, value, words)  # ttft_ms: {before: 100, after: 2000}
        else:
            self.tree(value, inner)

    def _by_case(self, name: Name, value: dict[Any, Any], words: tuple[str, ...]) -> None:
        for key, item in value.items():
            own = name_of(str(key))
            stated = figure(item)
            if stated is not None:
                statistic = own.statistic or name.statistic
                self._put(
                    words, msgspec.structs.replace(name, statistic=statistic, words=(*name.words, *own.words)), stated
                )

    def _table(self, key: str, rows: list[dict[Any, Any]], words: tuple[str, ...]) -> None:
        name, timed = name_of(key), key in _ROWS or any("t" in row for row in rows)
        unit = next((word for word in key.split("_") if word in SECONDS), "")
        for row in rows[:_MAX_ROWS]:
            if name.quantity and unit and (stated := figure(row.get(unit))) is not None:
                self._longest(words, name, stated)  # stall_s_by_uptime: [{h: 1, s: 7}, …]
                continue
            if timed and (found := _row(row)) is not None:
                self.rows.append(found)
            elif not timed:
                self.tree(row, (*words, *name_of(key).words, *_labels(row)))

    def _list(self, key: str, value: list[Any], words: tuple[str, ...], swept: tuple[str, list[float]] | None) -> None:
        name = name_of(key)
        numbers = [f for item in value if (f := figure(item)) is not None]
        if len(numbers) != len(value) or not numbers:
            self.lines += [item[:500] for item in value if isinstance(item, str) and _LINES.search(key.lower())]
            return
        if name.quantity in ("power", "gpu_util", "clock", "power_cap", "ecc", "running", "waiting"):
            self.counts[name.quantity] = tuple(f.middle * name.scale for f in numbers)
            return
        if swept is not None and name.quantity and name.quantity != swept[0] and len(numbers) == len(swept[1]):
            for at, stated in zip(swept[1], numbers, strict=True):
                label = f"{swept[0]}={at:g}"
                self._case((*words, *name.words, label)).setdefault(swept[0], Figure(at, at))
                self._put(words, msgspec.structs.replace(name, words=(*name.words, label)), stated)
        elif name.quantity:
            # Two numbers are a first and a last one; more are repetitions.
            ends = (
                (numbers[0].low, numbers[-1].high)
                if len(numbers) == 2
                else (sum(f.middle for f in numbers) / len(numbers),) * 2
            )
            self._put(words, name, Figure(*ends))

    def _longest(self, words: tuple[str, ...], name: Name, stated: Figure) -> None:
        slot, found = _slot(name), _si(stated, name)
        case = self._case(words)
        if found is not None and (slot not in case or case[slot].high < found.high):
            case[slot] = found

    def _leaf(self, key: str, value: Any, words: tuple[str, ...]) -> None:
        if isinstance(value, str) and _LINES.search(key.lower()):
            self.lines.append(value[:500])
            return
        name, stated = name_of(key), figure(value)
        if isinstance(value, str) and (lengths := _IN_OUT.match(value)):
            case = self._case((*words, *name.words))
            case["prompt"], case["output"] = (Figure(float(n), float(n)) for n in lengths.groups())
        if xid := _XID.search(key.lower()):
            self._xid(xid[1], stated)
        elif stated is not None and name.quantity:
            self._put(words, name, stated)

    def _xid(self, number: str, stated: Figure | None) -> None:
        """A GPU fault by its number, in the name or as the value, as the kernel's log has it."""
        number = number or (f"{stated.middle:.0f}" if stated else "")
        if number and not (stated is not None and stated.high == 0):
            self.lines.append(f"NVRM: Xid (PCI:0000:00:00): {number[:4]}")

    def _case(self, words: tuple[str, ...]) -> Values:
        return self.cases.setdefault(words, {})

    def _put(self, words: tuple[str, ...], name: Name, stated: Figure) -> None:
        """A figure of a case; a name that says a concurrency (c16, single) makes a case of its own."""
        found = _si(stated, name)
        if found is None:
            return
        case = self._case(
            (*words, *name.words) if name.in_flight is None else (*words, *name.words, f"c{name.in_flight}")
        )
        if name.in_flight is not None:
            case.setdefault("in_flight", Figure(name.in_flight, name.in_flight))
        case.setdefault(_slot(name), found)


def _slot(name: Name) -> str:
    return f"{name.quantity}.{name.statistic}" if name.statistic else name.quantity


def _si(stated: Figure, name: Name) -> Figure | None:
    """In SI units; None for a time without a unit, and a share of samples is one whatever its name says."""
    if name.scale == UNSAID:
        return stated.scaled(SECONDS[stated.unit]) if stated.unit in SECONDS else None
    return stated if stated.unit == "ratio" else stated.scaled(name.scale)


def _row(row: dict[Any, Any]) -> Row | None:
    values: Values = {}
    engines: dict[str, tuple[float | None, ...]] = {}
    for key, value in row.items():
        name = name_of(str(key))
        if not name.quantity:
            continue
        if isinstance(value, list) and 1 < len(value) <= 64:
            numbers = [figure(item) for item in value]
            engines[name.quantity] = tuple(f.middle * name.scale if f else None for f in numbers)
        elif (stated := figure(value)) is not None and (found := _si(stated, name)) is not None:
            values[_slot(name)] = found
    return Row(_seconds(row.get("t")), values, engines) if values or engines else None


def _seconds(value: Any) -> float | None:
    """Seconds of a time of day, or a number of seconds."""
    if isinstance(value, str) and (clock := _CLOCK.search(value)):
        return 3600.0 * int(clock[1]) + 60.0 * int(clock[2]) + int(clock[3])
    stated = figure(value)
    return stated.middle if stated else None


def _labels(row: dict[Any, Any]) -> tuple[str, ...]:
    """What tells a row of a table from the others: its texts, and what was varied."""
    found: list[str] = []
    for key, value in row.items():
        name = name_of(str(key))
        if name.quantity in _VARIABLES:
            found.append(f"{name.quantity}={value}"[:40])
        elif not name.quantity and isinstance(value, int | float):
            found.append(f"{key}={value}".lower()[:40])
        elif not name.quantity and isinstance(value, str):
            found += [str(key).lower(), *re.sub(r"[^a-z0-9.]+", " ", str(value).lower()[:60]).split()]
    return tuple(found)


def _swept(found: dict[Any, Any]) -> tuple[str, list[float]] | None:
    """The list of a variable beside which other lists stand: its quantity and its values."""
    for key, value in found.items():
        name = name_of(str(key))
        if name.quantity in _VARIABLES and isinstance(value, list) and len(value) > 1:
            numbers = [f.middle for item in value if (f := figure(item)) is not None]
            if len(numbers) == len(value):
                return name.quantity, numbers
    return None
