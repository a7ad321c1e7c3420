"""What of a ticket could not be used: named, so that nobody takes it for weighed."""

from __future__ import annotations

import re

from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .document import Ticket
from .features import named_features, part_of
from .leaf import Leaf, leaves_of
from .names import name_of

_MOST = 8
_KNOWN = re.compile(
    r"_(?:slow\w*|ratio|delta|drop|loss|overhead|log\w*|error\w*|warning|message|health|xid\w*|rss|ram|cfs|throttl\w*|"
    r"load\w*|weights|start\w*|cold_start|prefetch|lazy|compile|served|t)_"
)


def unread(ticket: Ticket) -> tuple[str, ...]:
    """Names of the symptoms that mean no quantity, no part of a step and no line of a log to us, sorted."""
    found: set[str] = set()
    for leaf in leaves_of(ticket.symptoms):
        if not _read(leaf):
            found.add(leaf.key.strip("_")[:40])
    return tuple(sorted(name for name in found if name))


def _read(leaf: Leaf) -> bool:
    named = name_of(leaf.key.strip("_")).quantity or name_of(leaf.path.strip("_")[-80:]).quantity
    return bool(named or part_of(leaf.path) or _KNOWN.search(leaf.path) or named_features(leaf.path))


def unread_text(names: tuple[str, ...]) -> str:
    """Some of the names, and how many more there are."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def unread_warnings(ticket: Ticket, file: str) -> tuple[InputWarning, ...]:
    """A notice of what was not used; none where all was."""
    names = unread(ticket)
    if not names:
        return ()
    text = Text("not used of the ticket: {names}", "工单中未使用：{names}").format(names=unread_text(names))
    return (InputWarning("ticket_unread", text, file),)
