"""Text that a person reads, in every language whystall speaks."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any

from .duration import plain, spoken

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

        Beside Python's format specifications, which group thousands here, there are

        - ``~2``: two significant digits, never an exponent;
        - ``span``: seconds in the unit that a person would use (:func:`~whystall.model.duration.spoken`);
        - ``one line|# lines``: the first where the number reads as 1, else the second with the number for ``#``.
        """
        en, zh = (
            _FORMATTERS[lang].vformat(t, (), _pick(values, lang)) for t, lang in ((self.en, "en"), (self.zh, "zh"))
        )
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
    """``str.format`` with the specifications of :meth:`Text.format`; ``~N`` may follow a sign: ``{slope:+~2}``."""

    def __init__(self, lang: str) -> None:
        self._lang = lang

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "span":
            return spoken(float(value), self._lang)
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if plain(float(value), 2) == "1" else many.replace("#", plain(float(value), 2))
        sign, tilde, digits = format_spec.partition("~")
        if tilde:
            return plain(float(value), int(digits), sign)
        return str(format(value, _GROUPED.sub(r"\1,\2", format_spec)))


_GROUPED = re.compile(r"^([+ -]?)(\.\d+f)$")  # a fixed number of decimals: its thousands are grouped
_FORMATTERS = {lang: _Formatter(lang) for lang in LANGUAGES}


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
