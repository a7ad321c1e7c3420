"""How one writer lays out Chrome-trace events, learnt from the first of them, so that events split at a literal.

PyTorch's profiler writes every event the same way, but the ways differ between its versions and after a trip through
``json.dumps``. A split at a literal runs at over 1 GB/s, a parser at a third of that, and most events are not needed.
"""

from __future__ import annotations

import re

import msgspec

_BOUNDARY = re.compile(rb'\}(\s*),(\s*)\{(\s*)"ph"(\s*):(\s*)"([A-Za-z])"(\s*),(\s*)"cat"(\s*):(\s*)"')
_KEY_BYTES = 6  # of a category's name: enough to tell apart those we keep

# What we do with a category. 2021's profiler used other names than today's.
KINDS = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "transfer",
    "Memcpy": "transfer",
    "gpu_memset": "transfer",
    "Memset": "transfer",
    "cuda_runtime": "launch",
    "cuda_driver": "launch",
    "hip_runtime": "launch",
    "xpu_runtime": "launch",
    "mtia_runtime": "launch",
    "privateuse1_runtime": "launch",
    "Runtime": "launch",
    "user_annotation": "annotation",
    "cpu_instant_event": "instant",
    "overhead": "overhead",
}
PHASES = {"instant": "i"}  # all other kinds are complete events, "X"


class Layout(msgspec.Struct, frozen=True):
    """``separator`` runs from the ``}`` of an event to the phase's opening quote in the next.

    ``key_bytes`` of what follows (phase, category's first letters) tell the kind of event, where it is worth decoding.
    """

    separator: bytes
    opening: bytes
    key_bytes: int
    kinds: dict[bytes, str]


def learn(text: bytes, wanted: dict[str, str]) -> Layout | None:
    """The layout of ``text``, which begins inside the array of events, or None where the events are not uniform.

    ``wanted`` maps the categories to decode to their kinds.
    """
    match = _BOUNDARY.search(text)
    if match is None:
        return None
    phase_at = match.start(6) - match.start()
    separator, between = match.group()[:phase_at], match.group()[phase_at + 1 :]
    opening = b"{" + separator.rpartition(b"{")[2]
    kinds = {
        PHASES.get(kind, "X").encode() + between + category.encode()[:_KEY_BYTES]: kind
        for category, kind in wanted.items()
    }
    return Layout(separator, opening, 1 + len(between) + _KEY_BYTES, kinds)
