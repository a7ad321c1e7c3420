"""Text that a person reads, in every language whystall speaks."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

LANGUAGES = ("en", "zh")


class Text:
    """One sentence in English and in Chinese. Renderers pick one with :meth:`in_`.

    A plain class rather than a struct, so that the JSON encoder asks us how to write it.
    """

    __slots__ = ("en", "zh")

    def __init__(self, en: str, zh: str = "") -> None:
        self.en = en
        self.zh = zh or en

    def in_(self, lang: str) -> str:
        return self.zh if lang == "zh" else self.en

    def format(self, **values: Any) -> Text:
        """Both languages with the same values; a ``Text`` among the values is put in by language.

        Beside Python's format specifications there is ``~2``: two significant digits, never an exponent.
        """
        en, zh = (_FORMATTER.vformat(t, (), _pick(values, lang)) for t, lang in ((self.en, "en"), (self.zh, "zh")))
        return Text(en, zh)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.en, self.zh) == (other.en, other.zh)

    def __hash__(self) -> int:
        return hash((self.en, self.zh))

    def __repr__(self) -> str:
        return f"Text({self.en!r})"

    def __str__(self) -> str:
        return self.en


class _Formatter(string.Formatter):
    """``str.format`` with the specification ``~N``, optionally after a sign: ``{slope:+~2}``."""

    def format_field(self, value: Any, format_spec: str) -> str:
        sign, tilde, digits = format_spec.partition("~")
        if not tilde:
            return str(format(value, format_spec))
        return plain(float(value), int(digits), sign)


_FORMATTER = _Formatter()


def plain(value: float, digits: int, sign: str = "") -> str:
    """``value`` to ``digits`` significant digits without an exponent: 107 and not 1.1e+02, 0.000014 as 0."""
    if not math.isfinite(value):
        return str(value)
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0
    text = f"{value:{sign}.{min(places, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _pick(values: dict[str, Any], lang: str) -> dict[str, Any]:
    return {k: v.in_(lang) if isinstance(v, Text) else v for k, v in values.items()}


def encode_hook(lang: str) -> Callable[[object], object]:
    """``enc_hook`` for msgspec that writes a :class:`Text` in one language."""

    def hook(value: object) -> object:
        if isinstance(value, Text):
            return value.in_(lang)
        raise NotImplementedError(f"cannot encode {type(value).__name__}")

    return hook


def decode_hook(kind: type, value: object) -> object:
    """``dec_hook`` for msgspec: a string read back is the same in both languages, an object has ``en`` and ``zh``."""
    if kind is Text and isinstance(value, str):
        return Text(value)
    if kind is Text and isinstance(value, dict) and all(isinstance(value.get(lang), str) for lang in LANGUAGES):
        return Text(value["en"], value["zh"])
    if kind is Text:
        raise ValueError(f"a text is a string or has both {' and '.join(LANGUAGES)}")
    raise NotImplementedError(f"cannot decode {kind.__name__}")


def schema_hook(kind: type) -> dict[str, Any]:
    """``schema_hook`` for msgspec: on the wire a :class:`Text` is a string."""
    if kind is Text:
        return {"type": "string"}
    raise NotImplementedError(f"no schema for {kind.__name__}")
