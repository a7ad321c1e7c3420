"""One line of a Prometheus text page, read strictly: the slow path of :mod:`whystall.sources.exposition`.

Takes the text format 0.0.4 and what OpenMetrics adds to a sample line (timestamps in seconds, exemplars), quoted names
(``{"my.metric", a="b"} 1``) and any blanks that the format allows between the parts.
"""

from __future__ import annotations

import re

from whystall.model.recording import SeriesKey

_BARE_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_QUOTED = r'"((?:[^"\\]|\\.)*+)"'  # possessive: a hostile value cannot make it backtrack
_TERM = re.compile(rf"[ \t]*+(?:{_QUOTED}|([a-zA-Z_:][a-zA-Z0-9_:]*+))[ \t]*+(=[ \t]*+{_QUOTED}[ \t]*+)?")
_NEXT = re.compile(r"[ \t]*+,?[ \t]*+")
_ESCAPE = re.compile(r'\\[\\n"]')
_ESCAPED = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}

# A key without its label values: the metric's name, the labels' names as they stand, and the order that sorts them.
_Shape = tuple[str, tuple[str, ...], tuple[int, ...] | None]
_shapes: dict[tuple[str, ...], _Shape] = {}
_SHAPES_KEPT = 4096


class BadLine(ValueError):
    """A line that is no sample; the text says what is wrong with it."""


def unescape(text: str) -> str:
    """A label value with its three escapes undone; other backslashes stay as they are."""
    return _ESCAPE.sub(lambda match: _ESCAPED[match.group()], text) if "\\" in text else text


def read_value(text: str) -> float:
    """A sample's value. Python's underscores in numbers are not part of the format."""
    if "_" in text:
        raise BadLine(f"{text[:40]!r} is not a number")
    try:
        return float(text)
    except ValueError:
        raise BadLine(f"{text[:40]!r} is not a number") from None


def value_after_key(rest: str) -> float:
    """The value in what follows a series key: ``value [timestamp] [# exemplar]``."""
    number, *others = rest.partition(" # ")[0].split()[:3] or [""]
    if not number:
        raise BadLine("no value")
    if len(others) > 1:
        raise BadLine(f"{others[1][:40]!r} after the timestamp")
    if others:
        read_value(others[0])
    return read_value(number)


def read_key(text: str) -> SeriesKey | None:
    """The key that the whole of ``text`` is, or None where it is none (the line needs the slow path)."""
    if "\\" in text:
        return _whole_key(text)
    parts = text.split('"')  # without escapes every quote begins or ends a value
    between = tuple(parts[::2])
    shape = _shapes.get(between) or _shape(between, len(parts))
    if shape is None:
        return _whole_key(text)
    name, labels, order = shape
    pairs = tuple(zip(labels, parts[1::2]))  # noqa: B905  # equally long; the keyword costs a third of the call
    return SeriesKey(name, pairs if order is None else tuple([pairs[k] for k in order]))


def key_end(line: str) -> tuple[SeriesKey, int]:
    """The key that a stripped line begins with, and where it ends. Raises :class:`BadLine`."""
    match = _BARE_NAME.match(line)
    name = match.group() if match else ""
    at = match.end() if match else 0
    blanks = len(line) - len(line[at:].lstrip(" \t"))
    if line[blanks : blanks + 1] != "{":
        if not name or line[at : at + 1] not in (" ", "\t"):
            what = f"{line[at : at + 1]!r} after the name" if at < len(line) else "no value"
            raise BadLine(what if name else "no metric name")
        return SeriesKey(name), at
    labels, end = _labels(line, blanks + 1)
    return _named(name, labels), end


def _whole_key(text: str) -> SeriesKey | None:
    try:
        key, end = key_end(text.strip())
    except BadLine:
        return None
    return key if end == len(text.strip()) else None


def _shape(between: tuple[str, ...], parts: int) -> _Shape | None:
    """What the texts between values say: ``('m{a=', ',b=', '}')``. None where something in them is unusual."""
    name, brace, first = between[0].partition("{")
    if not _BARE_NAME.fullmatch(name) or parts % 2 == 0 or (brace == "") != (parts == 1):
        return None
    names = tuple(text.removeprefix(",").removesuffix("=") for text in (first, *between[1:-1])) if brace else ()
    plain = tuple(f",{label}=" if k else f"{name}{{{label}=" for k, label in enumerate(names)) + ("}",) * bool(brace)
    good = len(set(names)) == len(names) and all(map(_BARE_NAME.fullmatch, names)) and "__name__" not in names
    if not good or (brace and plain != between):
        return None
    order = tuple(sorted(range(len(names)), key=names.__getitem__))
    shape = (name, names, None if order == tuple(range(len(names))) else order)
    if len(_shapes) < _SHAPES_KEPT:
        _shapes[between] = shape
    return shape


def _labels(line: str, at: int) -> tuple[dict[str, str], int]:
    """Labels from ``at``, just after the opening brace, and the place after the closing one."""
    labels: dict[str, str] = {}
    at = _NEXT.match(line, at).end()  # type: ignore[union-attr]  # it matches the empty text
    while line[at : at + 1] != "}":
        term = _TERM.match(line, at)
        if term is None:
            raise BadLine("labels that do not end" if at >= len(line) else f"no label at {line[at : at + 20]!r}")
        _add_label(labels, term)
        after = _NEXT.match(line, term.end())
        at = after.end() if after else term.end()
        if line[at : at + 1] != "}" and (after is None or "," not in after.group()):
            raise BadLine(f"no comma before {line[at : at + 20]!r}")
    return labels, at + 1


def _add_label(labels: dict[str, str], term: re.Match[str]) -> None:
    quoted, bare, assigned, value = term.groups()
    if assigned is None and quoted is None:
        raise BadLine(f"label {bare!r} without a quoted value")
    name = "__name__" if assigned is None else unescape(quoted) if bare is None else bare
    if name in labels:
        raise BadLine(f"label {name!r} twice")
    labels[name] = unescape(quoted if assigned is None else value)


def _named(name: str, labels: dict[str, str]) -> SeriesKey:
    inside = labels.pop("__name__", "")
    if bool(name) == bool(inside):
        raise BadLine("the metric's name twice" if name else "no metric name")
    return SeriesKey(name or inside, tuple(sorted(labels.items())))
