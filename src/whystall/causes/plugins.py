"""The door of the catalogue: what a cause must be to stand in it, for ours and for those that other packages bring.

A package brings a cause with an entry point of the group ``whystall.causes`` that names a
:class:`~whystall.causes.entry.CauseEntry`, or a module with one in ``CAUSE``. What is not one is refused, with its name and
the reason, and the rest of the catalogue stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from types import ModuleType
from typing import get_args

import msgspec

from whystall.model.diagnosis import Signal
from whystall.model.text import Text

from .entry import CauseEntry, Link
from .headline import fields

GROUP = "whystall.causes"
MOST_BIAS, MOST_WEIGHT = (
    -2.0,
    20.0,
)  # nothing speaks for a cause until something is seen; and nothing alone is everything
_ID = re.compile(r"[a-z][a-z0-9_]{2,63}")
# What importing somebody's module may raise; anything else is a fault of ours.
_BROKEN = (
    ImportError,
    AttributeError,
    SyntaxError,
    NameError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    OSError,
    RuntimeError,
    AssertionError,
)


class Refusal(msgspec.Struct, frozen=True):
    """A plugin that was not let in: the entry point with its package, and why."""

    name: str
    why: str


class Admitted(msgspec.Struct, frozen=True):
    """The causes by id, and the plugins that were refused."""

    causes: dict[str, CauseEntry]
    refused: tuple[Refusal, ...] = ()


def admit(own: Iterable[object], plugins: Iterable[metadata.EntryPoint]) -> Admitted:
    """Our causes, then those of the plugins. Raises ValueError for one of ours that is none; a plugin is refused."""
    causes: dict[str, CauseEntry] = {}
    for given in own:
        cause = checked(given, causes)
        causes[cause.id] = cause
    refused = []
    for plugin in sorted(plugins, key=lambda one: one.name):
        try:
            cause = checked(plugin.load(), causes)
        except _BROKEN as error:
            refused.append(Refusal(_named(plugin), str(error)[:300] or type(error).__name__))
        else:
            causes[cause.id] = cause
    return Admitted(causes, tuple(refused))


def installed() -> Iterable[metadata.EntryPoint]:
    """The entry points of the packages that are installed beside us."""
    return metadata.entry_points(group=GROUP)


def _named(plugin: metadata.EntryPoint) -> str:
    package = plugin.dist.name if plugin.dist is not None else ""
    return f"{plugin.name} of {package}" if package else plugin.name


def checked(given: object, causes: dict[str, CauseEntry]) -> CauseEntry:
    """``given`` as a cause that may stand beside ``causes``. Raises ValueError that says what is wrong with it."""
    cause = getattr(given, "CAUSE", given) if isinstance(given, ModuleType) else given
    if not isinstance(cause, CauseEntry):
        raise ValueError(f"it gives a {type(cause).__name__} and no CauseEntry")
    problem = next(problems(cause), None)
    if cause.id in causes:
        problem = f"there is a cause {cause.id!r} already"
    if problem is not None:
        raise ValueError(problem)
    return cause


def problems(cause: CauseEntry) -> Iterator[str]:
    """What keeps an entry out of the catalogue, in words."""
    if not _ID.fullmatch(cause.id):
        yield f"the id {cause.id[:64]!r} is not of small letters, digits and underscores"
    for name in ("title", "what", "predicts", "first_step"):
        text = getattr(cause, name)
        if not isinstance(text, Text) or not text.en.strip() or not text.zh.strip():
            yield f"{name} is no text"
    if not -math.inf < cause.bias <= MOST_BIAS:
        yield f"bias {cause.bias:g} would name it without evidence: {MOST_BIAS:g} or less"
    for id, weight in cause.weights.items():
        if not abs(weight) <= MOST_WEIGHT:
            yield f"the weight of {id} is {weight:g}, beyond {MOST_WEIGHT:g}"
    if not cause.links:
        yield "it has no why"
    for link in (*cause.links, *(link for links in cause.other_links for link in links)):
        yield from _link_problems(cause, link)
    if bool(cause.hurts_as) == cause.explains_idle:
        yield "it says neither how it hurts (hurts_as) nor that it explains an idle server, or both"
    if unknown := set(cause.settled_by) - set(get_args(Signal)):
        yield f"it is settled by {sorted(unknown)[0]!r}, which is no signal"


def _link_problems(cause: CauseEntry, link: Link) -> Iterator[str]:
    asked = {need.evidence.replace(".", "_") for need in link.needs}
    if not asked:
        yield "a why checks nothing"
    for lang in ("en", "zh"):
        if missing := fields(Text(link.claim.in_(lang))) - asked:
            yield f"a why quotes {sorted(missing)[0]!r}, which it does not check"
    for need in link.needs:
        if not (need.evidence in cause.weights or link.optional or need.below):
            yield f"a why must hold on {need.evidence}, which has no weight"
