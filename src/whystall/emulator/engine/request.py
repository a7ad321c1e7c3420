"""One request inside the engine, and where it stands."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .content import Content

NOT_ENTERED = 1 << 62


class Stand(enum.Enum):
    """How the scheduler keeps a request.

    DECODING: one token a step, not touched until something changes; its numbers follow from the step's index.
    LOOSE: in the running batch, advanced one by one (prefill chunks, steps that cannot serve everybody).
    DRAINED: in the running batch, its last token is being computed.
    """

    NEW = "new"
    WAITING = "waiting"
    PREEMPTED = "preempted"
    DECODING = "decoding"
    LOOSE = "loose"
    DRAINED = "drained"
    FINISHED = "finished"
    ABORTED = "aborted"


class Request:
    """A request: its lengths, and what the scheduler knows of it.

    ``output_tokens`` is what it will generate, ``max_tokens`` what it may; with fewer it stops by itself (EOS).
    Times are seconds on the engine's clock, NaN where they have not come yet; ``arrival`` is the front end's,
    ``queued`` and ``scheduled`` the engine's. ``computed`` and ``tokens`` hold for requests that are not DECODING.
    """

    __slots__ = (
        "adapter",
        "arrival",
        "blocked",
        "blocks",
        "cached_blocks",
        "cached_tokens",
        "computed",
        "content",
        "entered",
        "finished",
        "first_token",
        "held",
        "hit_tokens",
        "id",
        "last_scheduled",
        "last_step",
        "last_token",
        "max_tokens",
        "origin",
        "output_tokens",
        "preemptions",
        "priority",
        "prompt_tokens",
        "queued",
        "rank",
        "reason",
        "scheduled",
        "seat",
        "stale_step",
        "stand",
        "tag",
        "tokens",
        "unreported",
    )

    def __init__(
        self,
        id: int,
        prompt_tokens: int,
        output_tokens: int,
        content: Content,
        *,
        arrival: float = 0.0,
        max_tokens: int | None = None,
        priority: int = 0,
        tag: object = None,
    ) -> None:
        self.id = id
        self.prompt_tokens = prompt_tokens
        self.output_tokens = output_tokens
        self.max_tokens = output_tokens if max_tokens is None else max_tokens
        self.content = content
        self.arrival = arrival
        self.priority = priority
        self.tag = tag
        self.rank = (priority, arrival, id)
        self.queued = self.scheduled = self.first_token = self.last_token = self.finished = float("nan")
        self.reason = ""
        self.stand = Stand.NEW
        self.seat = -1
        self.blocked = False  # waits for something else than capacity, such as its grammar
        self.adapter = 0  # LoRA adapter, 0 for none
        self.tokens = prompt_tokens  # known and in flight, as if every result in flight had come
        self.computed = 0
        self.origin = 0  # DECODING: tokens computed before step s are s - origin
        self.blocks: list[int] = []
        self.held: Sequence[int] = ()  # PREEMPTED: the blocks that it had, as long as they may still be cached
        self.cached_blocks = 0  # of blocks, from the start, those that a key points to
        self.cached_tokens = 0  # LOOSE: tokens that are known and written
        self.hit_tokens = 0
        self.preemptions = 0
        self.unreported = 0  # preemptions that no output has told of yet
        self.entered = NOT_ENTERED  # step that gave the first token since its admission
        self.last_scheduled = -1
        self.last_step = -1  # step whose result held its latest token
        self.stale_step = -1  # a result still in flight from before a preemption

    @property
    def stops_early(self) -> bool:
        return self.output_tokens < self.max_tokens

    def __lt__(self, other: Request) -> bool:
        return self.rank < other.rank
