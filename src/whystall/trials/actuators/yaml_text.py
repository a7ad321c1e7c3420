"""Plain data as YAML that a person can read and every parser takes: scalars are JSON's, which YAML includes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")


def yaml_text(data: Mapping[str, Any]) -> str:
    """``data`` (mappings, sequences, scalars) in block style, with a line's end at its end."""
    return "".join(f"{line}\n" for line in _lines(data, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entry(f"{indent}{_key(str(key))}:", inner, indent + "  ")
    else:
        for inner in value:
            first, *rest = list(_lines(inner, indent + "  ")) if _is_nested(inner) else [indent + "  " + _scalar(inner)]
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if _is_nested(value):
        yield head
        yield from _lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _is_nested(value: Any) -> bool:
    return bool(value) and (isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)))


def _key(text: str) -> str:
    return text if _PLAIN_KEY.fullmatch(text) else _scalar(text)


def _scalar(value: Any) -> str:
    return msgspec.json.encode(value).decode()
