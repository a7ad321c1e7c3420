"""In which order to ask when it is unsure: first tokens late, or the stream slow (incidents.md 8, question 6)."""

from __future__ import annotations

from typing import NamedTuple

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text


class Question(NamedTuple):
    """A place where time goes, and the evidence that tells whether it goes there."""

    place: Text
    evidence: tuple[str, ...]


_QUEUE = Question(Text("the queue", "队列"), ("queue.delay",))
_PREFILL = Question(Text("prefill", "预填充"), ("prefill.busy", "budget.full"))
_FRONT = Question(Text("the front end", "前端"), ("front.residual", "api.core"))
_BATCH = Question(
    Text("the batch: prompts and preemptions between the tokens", "批：token 之间的提示与抢占"),
    ("itl.mixed_steps", "kv.preemptions"),
)
_KERNELS = Question(
    Text("the kernels, and what the GPU waits for", "内核以及 GPU 在等什么"), ("step.host_gap", "gpu.held_down")
)

FIRST_TOKEN_LATE = (_QUEUE, _PREFILL, _FRONT)
STREAM_SLOW = (_BATCH, _KERNELS)
# Kinds of loss (evidence/symptoms.py) in which the stream is slow; in all others first tokens or answers are late.
_OF_THE_STREAM = {"itl", "host_gap", "throttle"}
SPEAKS = 0.3


def questions(kinds: dict[str, float]) -> tuple[Question, ...]:
    """The questions for the losses seen, the kind that fills most of the incident first; none where nothing hurts."""
    lost = sorted((kind for kind, share in kinds.items() if share > 0), key=lambda k: -kinds[k])
    if not lost:
        return ()
    slow = lost[0] in _OF_THE_STREAM
    both = any((kind in _OF_THE_STREAM) != slow for kind in lost)
    first, then = (STREAM_SLOW, FIRST_TOKEN_LATE) if slow else (FIRST_TOKEN_LATE, STREAM_SLOW)
    return (*first, *then) if both else first


def next_question(kinds: dict[str, float], evidence: dict[str, Evidence]) -> Question | None:
    """The first place that its evidence points to; else the first that nothing was seen of."""
    asked = questions(kinds)
    pointed = (q for q in asked if any(evidence[e].strength >= SPEAKS for e in q.evidence if e in evidence))
    unseen = (q for q in asked if not any(e in evidence for e in q.evidence))
    return next(pointed, next(unseen, None))
