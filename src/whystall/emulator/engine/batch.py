"""What one step computes, and what its result tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .request import Request


class Chunk(NamedTuple):
    """``tokens`` of one request computed in a step, on top of ``context`` tokens already in the cache."""

    request: Request
    tokens: int
    context: int


class Batch:
    """One step's work. ``decodes`` requests get one token each on ``decode_context`` tokens of context together.

    ``decodes`` counts the requests that the scheduler keeps by step index; ``chunks`` are all others, prefills and
    decodes alike, in the order in which they were scheduled. ``producers`` are those of ``chunks`` that give a token,
    each with the step that gave its token before, -1 for none.
    """

    __slots__ = ("admitted", "chunks", "decode_context", "decodes", "preempted", "producers", "step", "tokens")

    def __init__(self, step: int, decodes: int, decode_context: int) -> None:
        self.step = step
        self.decodes = decodes
        self.decode_context = decode_context
        self.tokens = decodes
        self.chunks: Sequence[Chunk] = ()
        self.producers: Sequence[tuple[Request, int]] = ()
        self.preempted: Sequence[Request] = ()
        self.admitted: Sequence[Request] = ()


class Outcome:
    """What the engine learns when a step's result comes.

    ``regular`` tokens came for requests that also got one in the step before; ``producers`` got one otherwise.
    ``finished`` in the order in which they end; ``preemptions`` are events that these outputs report.
    """

    __slots__ = ("finished", "preemptions", "producers", "regular")

    def __init__(self, regular: int) -> None:
        self.regular = regular
        self.producers: Sequence[tuple[Request, int]] = ()
        self.finished: Sequence[Request] = ()
        self.preemptions = 0
