"""A vLLM command line to flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .dialects.vllm_flags import HIDDEN, RENAMED, SECRET, SHORT, SWITCHES
from .literal import items, settings, unquoted

MODEL = "model"
_PROGRAMS = ("serve", "vllm.entrypoints.openai.api_server", "api_server.py")


class Group(NamedTuple):
    """A flag with what belongs to it: its name as in :func:`read_arguments`, its value, and the words it was written as."""

    name: str
    value: str
    words: tuple[str, ...]


def read_arguments(argv: Sequence[str]) -> dict[str, str]:
    """Flags by name, without dashes and with underscores, as text: ``{"max_num_seqs": "16", "enforce_eager": "True"}``.

    Takes ``--flag value``, ``--flag=value``, ``--no-flag``, short forms (``-tp 4``), dotted ones
    (``--profiler-config.profiler torch``) and JSON values, whose fields are given after a dot too. A word that belongs
    to no flag is the model. Secrets are hidden.
    """
    found: dict[str, str] = {}
    for group in grouped(_after_program(argv)):
        if group.name == MODEL:
            found.setdefault(MODEL, group.value)
        else:
            found[group.name] = group.value
    return tidy(found)


def grouped(words: Sequence[str]) -> Iterator[Group]:
    """The words of a command line, without its program, flag by flag; a word that belongs to none is the model."""
    at = 0
    while at < len(words):
        start, word = at, words[at]
        at += 1
        if not _is_flag(word):
            yield Group(MODEL, word, (word,))
            continue
        name, value, said = _split(word)
        if not said and name not in SWITCHES:
            while at < len(words) and not _is_flag(words[at]):
                at += 1
                if not _takes_many(name):
                    break
            value = " ".join(words[start + 1 : at]) or "True"
        yield Group(name, value, tuple(words[start:at]))


def flag_name(flag: str) -> str:
    """The name of a flag in any spelling: ``-tp`` and ``--tensor-parallel-size`` are one, so are both forms of a switch."""
    name = _split(flag)[0]
    return RENAMED.get(name, name)


def tidy(found: Mapping[str, str]) -> dict[str, str]:
    """Old names made new, JSON values taken apart, lists as on a command line, secrets hidden."""
    flags: dict[str, str] = {}
    for name, value in found.items():
        name = RENAMED.get(name, name)
        flags[name] = HIDDEN if name in SECRET else _words(value)
        if value[:1] == "{":
            nested = settings(value[1:].removesuffix("}"), ":", name + ".")
            flags |= {key.replace("-", "_"): text for key, text in nested.items()}
    return flags


def _words(value: str) -> str:
    """``['a', 'b']`` as ``a b``; a list of anything but words stays as it is."""
    if value[:1] != "[" or value[-1:] != "]":
        return value
    words = [unquoted(item) for item in items(value[1:-1])]
    return value if any(set("[](){}= ") & set(word) for word in words) else " ".join(words)


def _after_program(argv: Iterable[str]) -> list[str]:
    words = list(argv)
    for number, word in enumerate(words[:8]):
        if word in _PROGRAMS or word.endswith(_PROGRAMS[1:]):
            return words[number + 1 :]
    return words[1:] if words and not words[0].startswith("-") and words[0].endswith("vllm") else words


def _is_flag(word: str) -> bool:
    """``-1`` and ``-0.5`` are values."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and word[1] != "."


def _split(word: str) -> tuple[str, str, bool]:
    """Name, value, and whether the word itself says the value."""
    bare, said, value = word.lstrip("-").partition("=")
    first, dot, rest = bare.partition(".")
    first = first.replace("-", "_")
    if not word.startswith("--"):
        if first[:1] == "O" and first[1:].isdigit():  # -O3
            return "optimization_level", first[1:], True
        first = SHORT.get(first, first)
    if first.startswith("no_") and first.removeprefix("no_") in SWITCHES:
        return first.removeprefix("no_"), "False", True
    if first in SWITCHES and not said:
        return first, "True", True
    return first + dot + rest.replace("-", "_"), value, bool(said)


def _takes_many(name: str) -> bool:
    return name in ("served_model_name", "lora_modules", "cudagraph_capture_sizes", "cuda_graph_sizes", "middleware")
