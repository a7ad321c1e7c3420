"""Which of a ticket's comparisons stand: what its cases show, what it says is worse, and what speaks against either."""

from __future__ import annotations

import re

import msgspec

from whystall.model.recording import Contrast

from .comparison import Compared
from .document import Ticket
from .leaf import Leaf, leaves_of
from .losses import stated_losses
from .statements import Statements

# LoRA's own work grows with the rank that its kernels are padded to: at 64 it is some percent of the weights' to half.
_SMALL_RANK, _LORA_COSTS = 64, 3.0
_RANK = re.compile(r"max[-_]lora[-_]rank[ =](\d{1,4})")
_TROUBLE = re.compile(r"_(?:hang|hung|hangs|deadlock|crash|crashed|stuck|freeze|oom)_")


def contrasts_of(found: Compared, ticket: Ticket, stated: Statements, *, window: bool) -> tuple[Contrast, ...]:
    """What the cases show; where they name nothing, what the ticket says is worse, and with what.

    A comparison that has another reason beside the one it is named for keeps its figure and loses its name.
    """
    shown = tuple(_doubted(contrast, found, ticket) for contrast in found.contrasts)
    if any(contrast.feature for contrast in shown):
        return shown
    losses = stated_losses(ticket, stated, window=window)
    named = tuple(_doubted(loss, found, ticket) for loss in losses if loss.feature)
    if named or shown:
        return tuple(loss for loss in named if loss.feature) or shown or named
    return losses if window else ()


def _doubted(contrast: Contrast, found: Compared, ticket: Ticket) -> Contrast:
    rank = _RANK.search(" ".join(ticket.flags))
    beyond = contrast.feature == "lora" and contrast.ratio > _LORA_COSTS and rank and int(rank[1]) <= _SMALL_RANK
    return msgspec.structs.replace(contrast, feature="") if beyond or _other_trouble(found, ticket) else contrast


def _other_trouble(found: Compared, ticket: Ticket) -> bool:
    """Whether the better case is said to hang or crash: then it is no reference, and there are two troubles."""
    return any(_TROUBLE.search(leaf.path) and _of(leaf, found.better) for leaf in leaves_of(ticket.symptoms))


def _of(leaf: Leaf, words: frozenset[str]) -> bool:
    return bool(words & set(leaf.path.strip("_").split("_")))
