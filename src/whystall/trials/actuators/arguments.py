"""A change of flags put into a command line; every other word stays as it was written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from whystall.errors import UsageError
from whystall.sources.arguments import Group, flag_name, grouped
from whystall.sources.dialects.vllm_flags import RENAMED, SWITCHES

_SHELLS = ("sh", "bash", "dash", "ash")
_SHELL_SYNTAX = set("$`;&|<>(){}*?!#~\n\\")


def changed(arguments: Sequence[str], flags: Mapping[str, str]) -> tuple[str, ...]:
    """``arguments`` with ``flags`` as a remedy writes them: ``"true"`` sets a switch, ``""`` takes a flag away.

    A flag that stands there in any spelling is replaced where it stands, else it is put at the end.
    """
    words = list(grouped(arguments))
    for flag, value in flags.items():
        name = flag_name(flag)
        at = next((i for i, group in enumerate(words) if _named(group) == name), len(words))
        words = [group for group in words if _named(group) != name]
        if value:
            words.insert(at, Group(name, value, _written(flag, name, value)))
    return tuple(word for group in words for word in group.words)


def _named(group: Group) -> str:
    return RENAMED.get(group.name, group.name)


def _written(flag: str, name: str, value: str) -> tuple[str, ...]:
    return (flag,) if value == "true" and name in SWITCHES else (flag, value)


def differences(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """What goes (``- --flag value``) and what comes (``+ --flag value``), flag by flag."""
    old, new = ([group.words for group in grouped(words)] for words in (before, after))
    gone = [f"- {shlex.join(words)}" for words in old if words not in new]
    return (*gone, *(f"+ {shlex.join(words)}" for words in new if words not in old))


class Shape:
    """How a container's command holds the arguments: as a list of words, or as one text for a shell."""

    def __init__(self, command: Sequence[str], args: Sequence[str]) -> None:
        words = [*command, *args]
        self._split_at = len(command)
        self._shell = len(words) > 2 and words[0].rsplit("/", 1)[-1] in _SHELLS and words[1].endswith("c")
        self._words = words
        self._start = 0 if self._shell else _after_serve(words)
        if self._shell:
            self._inner = _plain_words(words)
            self._start = _after_serve(self._inner)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What follows ``vllm serve``."""
        return tuple((self._inner if self._shell else self._words)[self._start :])

    def holding(self, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
        """Command and args with other ``arguments``, in the same shape."""
        if self._shell:
            words = [*self._words[:2], shlex.join([*self._inner[: self._start], *arguments]), *self._words[3:]]
        else:
            words = [*self._words[: self._start], *arguments]
        at = self._split_at if self._start >= self._split_at or self._shell else len(words)
        return words[:at], words[at:]


def _plain_words(words: Sequence[str]) -> list[str]:
    text = words[2]
    if len(words) > 3 or _SHELL_SYNTAX & set(text.strip()):
        raise UsageError(
            "the server is started by a shell script, whose text cannot be changed safely",
            "give the container's command as a list of words, or use a command hook (docs/fix.md)",
        )
    return shlex.split(text)


def _after_serve(words: Sequence[str]) -> int:
    """Where the server's arguments begin: after ``vllm serve`` or a module's name, else at the first word."""
    for at, word in enumerate(words[:8]):
        if word == "serve" or word.endswith("api_server"):
            return at + 1
    return 0
