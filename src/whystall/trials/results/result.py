"""What another load generator measured in one run, in our terms."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.model.trial import Metric

Tool = Literal["vllm bench serve", "GuideLLM", "AIPerf"]


class BenchmarkResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of ``tool``. A figure that the file does not have is absent. ``rate`` is the asked requests a second,
    None where as many went out as the ``concurrency`` allowed; ``waited_s`` how long requests waited in the client.
    """

    tool: Tool
    figures: dict[Metric, float]
    requests: int
    failed: int
    seconds: float
    model: str = ""
    rate: float | None = None
    concurrency: float | None = None
    waited_s: float = 0.0
