"""Text that a person reads, in every language whystall speaks."""

from __future__ import annotations

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
        """Both languages with the same values; a ``Text`` among the values is put in by language."""
        return Text(self.en.format(**_pick(values, "en")), self.zh.format(**_pick(values, "zh")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.en, self.zh) == (other.en, other.zh)

    def __hash__(self) -> int:
        return hash((self.en, self.zh))

    def __repr__(self) -> str:
        return f"Text({self.en!r})"

    def __str__(self) -> str:
        return self.en


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
    """``dec_hook`` for msgspec: a string read back is the same in both languages."""
    if kind is Text and isinstance(value, str):
        return Text(value)
    raise NotImplementedError(f"cannot decode {kind.__name__}")


def schema_hook(kind: type) -> dict[str, Any]:
    """``schema_hook`` for msgspec: on the wire a :class:`Text` is a string."""
    if kind is Text:
        return {"type": "string"}
    raise NotImplementedError(f"no schema for {kind.__name__}")
