"""Which change between two servers or recordings made the second one slower, as far as the two can tell."""

from __future__ import annotations

from collections.abc import Iterable

from whystall.model.comparison import FigureChange, SettingChange, Suspect
from whystall.model.text import Text

from .settings import NEUTRAL

# Figures of what users ask for: where one grew, the load explains a change by itself; a smaller load explains no loss. What
# the prefix cache supplies is the server's doing as much as the load's, so a lower hit rate is no other load.
LOAD = frozenset(("arrival_rate", "prompt_tokens", "output_tokens"))
FELT = ("latency", "throughput")
MOST_NAMED = 3


def suspects(settings: Iterable[SettingChange], figures: Iterable[FigureChange]) -> tuple[Suspect, ...]:
    """The causes that what differs points to; none where nothing got worse, or where the load grew.

    Settings and version that changed together are both suspected: which of them it was, one at a time will tell.
    """
    changed, seen = list(settings), list(figures)
    worse = [one for one in seen if one.group in FELT and one.differs and _worse(one)]
    if not worse or any(one.id in LOAD and one.differs and (one.b or 0.0) > (one.a or 0.0) for one in seen):
        return ()
    version = next((one for one in changed if one.name == "version"), None)
    others = [one for one in changed if one.name != "version" and one.name not in NEUTRAL]
    found = []
    if others:
        named = ", ".join(f"{one.name} {one.a or 'unset'} → {one.b or 'unset'}" for one in others[:MOST_NAMED])
        text = Text("under no larger load these settings differ: {named}", "负载并未增大而这些设置不同：{named}")
        found.append(Suspect("config_regression", text.format(named=named)))
    if version is not None:
        text = Text("under no larger load the version differs: {a} → {b}", "负载并未增大而版本不同：{a} → {b}")
        found.append(Suspect("version_regression", text.format(a=version.a or "?", b=version.b or "?")))
    return tuple(found)


def _worse(one: FigureChange) -> bool:
    if one.a is None or one.b is None:
        return False
    return one.b > one.a if one.better == "lower" else one.b < one.a if one.better == "higher" else False
