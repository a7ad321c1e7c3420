"""Reads a result file of any known load generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import InputError, TooLarge

from .aiperf import AiPerf
from .guidellm import GuideLlm
from .result import BenchmarkResult
from .vllm_bench import VllmBench

MAX_BYTES = 512 * 1024 * 1024
_HINT = (
    "Known are `vllm bench serve --save-result` (better with --save-detailed), GuideLLM's benchmarks.json and AIPerf's "
    "profile_export_aiperf.json."
)


class _Marks(msgspec.Struct, frozen=True):
    """Keys that tell the formats apart."""

    benchmarks: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    request_throughput: Any = None
    records: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def read_result(path: Path, benchmark: int | None = None) -> BenchmarkResult:
    """What ``path`` holds; ``benchmark`` picks one of a GuideLLM report (from 1).

    Raises InputError where it is no such file, TooLarge over 512 MB, UsageError where a report holds several.
    """
    content = _content(path)
    try:
        marks = msgspec.json.decode(content, type=_Marks)
        if not isinstance(marks.benchmarks, msgspec.UnsetType):
            return msgspec.json.decode(content, type=GuideLlm).result(benchmark)
        if not isinstance(marks.records, msgspec.UnsetType):  # AIPerf's first versions
            return msgspec.json.decode(marks.records, type=AiPerf).result()
        if isinstance(marks.request_throughput, dict):
            return msgspec.json.decode(content, type=AiPerf).result()
        return msgspec.json.decode(content, type=VllmBench).result()
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{path} is no result that we know: {error}", _HINT) from error


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise TooLarge(f"{path} is over {MAX_BYTES:,} bytes", "Save the result without every generated text.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "Check the path.") from error
