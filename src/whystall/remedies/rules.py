"""What a version lets be started: spellings, what is set, and the start-up rules that a change would break."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from whystall.model.configuration import Configuration
from whystall.model.text import Text

from .knob import Choice, Knob, Legal
from .knobs import knob_of, knobs
from .setup import Setup, number_of, switch_of
from .version import numbers, within

_UNKNOWN = Text("vLLM has no flag {flag}; it exits at the start", "vLLM 没有参数 {flag}；启动时会直接退出")
_LACKS = Text(
    "vLLM {version} is not known to have {flag}; an unknown flag ends the start",
    "未知 vLLM {version} 有参数 {flag}；未知参数会使启动失败",
)
_NOT_A_NUMBER = Text("{flag} takes a number, not {value!r}", "{flag} 需要数字，而不是 {value!r}")
_OUTSIDE = Text("{flag} {value} is outside of what it takes: {legal}", "{flag} {value} 超出取值范围：{legal}")
_NO_CHOICE = Text(
    "{flag} does not take {value!r} in this version; it takes {legal}",
    "{flag} 在该版本不接受 {value!r}；可取 {legal}",
)


class Refusal(msgspec.Struct, frozen=True):
    """Why the server would not start: the flag, the rule's id, and the rule in words."""

    flag: str
    rule: str
    text: Text


def spelling(knob: Knob | str, version: str) -> str | None:
    """How ``version`` writes it; None where it lacks it, or nobody knows whether it has it."""
    found = _spelled(knob, version)
    return found[0] if found else None


def spelling_off(knob: Knob | str, version: str) -> str | None:
    """How ``version`` turns a switch off; None where it cannot."""
    found = _spelled(knob, version)
    return found[1] if found and found[1] else None


def _spelled(knob: Knob | str, version: str) -> tuple[str, str] | None:
    entry = knob_of(knob) if isinstance(knob, str) else knob
    known = numbers(version)
    for one in entry.spellings if entry else ():
        if within(known, one.since, one.until):
            return one.flag, one.off
    return None


def is_set(configuration: Configuration, knob: Knob | str) -> bool | None:
    """Whether the operator set it; None where nothing tells what was set."""
    entry = knob_of(knob) if isinstance(knob, str) else knob
    return setup_of(configuration).is_set(entry.id) if entry else False


def legal_choices(legal: Legal, version: str) -> tuple[str, ...]:
    """The choices that a version is known to take."""
    return tuple(choice.value for choice in legal.choices if _known(choice, numbers(version)))


def _known(choice: Choice, version: tuple[int, ...]) -> bool:
    return within(version, choice.since, choice.until)


def setup_of(
    configuration: Configuration, changes: Mapping[str, str] | None = None, facts: Mapping[str, float] | None = None
) -> Setup:
    """The server with ``changes`` by knob id or flag ("" removes), with the defaults of its version."""
    version = numbers(configuration.version)
    found = ((id, knob.default(version)) for id, knob in knobs().items())
    defaults = {id: value for id, value in found if value not in (None, "None")}
    return Setup(configuration, dict(_settings(changes or {})), defaults, dict(facts or {}))


def _settings(changes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Changes by knob id. Turning on an off form sets its switch to false; taking it away leaves the default."""
    found = []
    for word, value in changes.items():
        knob = knob_of(word)
        off = knob is not None and word.replace("_", "-") in {one.off for one in knob.spellings if one.off}
        switched = {True: "false", False: "true"}.get(bool(switch_of(value))) if off and value else value
        found.append((knob.id if knob else word, switched or ""))
    return found


def may_start(
    configuration: Configuration, changes: Mapping[str, str], facts: Mapping[str, float] | None = None
) -> tuple[Refusal, ...]:
    """Why the server would refuse to start with ``changes``, as far as is known; () where nothing speaks against it.

    ``changes`` maps a flag or a knob's id to its value, "" takes the flag away, "true" sets a switch. A rule that the
    running server breaks already is one that it does not have. ``facts`` are numbers that no flag holds, by name:
    num_attention_heads, gpus.
    """
    found = [refusal for word, value in changes.items() for refusal in _of_flag(configuration, word, value)]
    return (*found, *_of_rules(configuration, changes, facts))


def _of_flag(configuration: Configuration, word: str, value: str) -> list[Refusal]:
    knob, version = knob_of(word), configuration.version
    if knob is None:
        return [Refusal(word, "unknown_flag", _UNKNOWN.format(flag=word))]
    if not value:  # what is taken away needs no spelling
        return []
    flag = word if word.startswith("-") else spelling(knob, version) or knob.spellings[0].flag
    if not _has(knob, flag, version):
        return [Refusal(flag, "version", _LACKS.format(flag=flag, version=version or "?"))]
    refusal = _of_value(knob, flag, value, version)
    return [refusal] if refusal else []


def _has(knob: Knob, flag: str, version: str) -> bool:
    known, written = numbers(version), flag.replace("_", "-")
    return any(written in (one.flag, one.off) and within(known, one.since, one.until) for one in knob.spellings)


def _of_value(knob: Knob, flag: str, value: str, version: str) -> Refusal | None:
    if knob.kind == "choice" and knob.legal.choices:
        choices = legal_choices(knob.legal, version)
        text = _NO_CHOICE.format(flag=flag, value=value, legal=", ".join(choices))
        return None if value in choices else Refusal(flag, "choice", text)
    if knob.kind not in ("whole", "number"):
        return None
    if any(value == choice.value for choice in knob.legal.choices):  # auto
        return None
    number = number_of(value)
    if number is None or (knob.kind == "whole" and number % 1):
        return Refusal(flag, "number", _NOT_A_NUMBER.format(flag=flag, value=value))
    text = _OUTSIDE.format(flag=flag, value=value, legal=bounds(knob.legal))
    return None if knob.legal.holds(number) else Refusal(flag, "range", text)


def bounds(legal: Legal) -> str:
    """The bounds as an interval, "" where there are none: ``(0, 1]``."""
    if legal.low is None and legal.high is None:
        return ""
    low = "(-∞" if legal.low is None else f"{'(' if legal.low_open else '['}{legal.low:g}"
    high = "∞)" if legal.high is None else f"{legal.high:g}{')' if legal.high_open else ']'}"
    return f"{low}, {high}"


def _of_rules(
    configuration: Configuration, changes: Mapping[str, str], facts: Mapping[str, float] | None
) -> tuple[Refusal, ...]:
    before, after = setup_of(configuration, {}, facts), setup_of(configuration, changes, facts)
    version = numbers(configuration.version)
    broken = []
    for knob in knobs().values():
        for rule in knob.needs:
            held = not version or within(version, rule.since, rule.until)
            if held and rule.broken(after) is True and rule.broken(before) is not True:
                broken.append(Refusal(knob.spellings[0].flag, rule.id, rule.says))
    return tuple(broken)
