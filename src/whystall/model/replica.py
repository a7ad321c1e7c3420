"""Another server that takes the same requests, as far as its load is seen from beside it."""

from __future__ import annotations

import msgspec

from .recording import Floats


class Replica(msgspec.Struct, frozen=True):
    """An engine of another page, at its own times ``t`` (unix seconds, rising). ``model`` is what it serves.

    ``running``, ``waiting`` and ``kv_usage`` are as they stood there; ``tokens`` (generated), ``computed`` (of prompts) and
    ``arrived`` (requests that ended, and those inside) are counted up from the first page. NaN where nothing was seen.
    """

    id: str
    model: str
    t: Floats
    running: Floats
    waiting: Floats
    kv_usage: Floats
    tokens: Floats
    computed: Floats
    arrived: Floats
