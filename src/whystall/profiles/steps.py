"""Engine steps: what an annotation's name says of its batch, and which step launched which GPU work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from .trace import ABSENT, Calls, Ints, Ranges, Trace

Phase = Literal["decode", "prefill", "mixed", "empty", "capture", "other"]


class StepName(msgspec.Struct, frozen=True):
    """The batch of one step: requests and tokens in prefill (context) and decode (generation); None where not given.

    ``query_key_*`` are the sums of query length times key length, from vLLM's detailed annotations.
    """

    phase: Phase
    context_requests: int | None = None
    context_tokens: int | None = None
    generation_requests: int | None = None
    generation_tokens: int | None = None
    context_query_key: int | None = None
    generation_query_key: int | None = None
    generation_keys: int | None = None


_N = r"(\d{1,12})"
_VLLM = re.compile(rf"execute_context_{_N}\({_N}(?:_\d+)?\)_generation_{_N}\({_N}(?:_\d+)?\)")
_SUMS = r"\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)"
_DETAILED = re.compile(rf"execute_{_N}_context_{_N}{_SUMS}_generation_{_N}{_SUMS}")
_SGLANG = re.compile(r"step\[(EXTEND|DECODE|MIXED|IDLE)\b([^\]]*)\]", re.IGNORECASE)
_ATOM = re.compile(r"^(prefill|decode)\[([^\]]*)\]")
_CAPTURE = re.compile(r"^capture_\d+")
_TRAINING = re.compile(r"^ProfilerStep#\d+$")
_FIELD = re.compile(r"(bs|toks|tokens)=(\d{1,12})")


def parse_step(name: str) -> StepName | None:
    """The step that an annotation names: vLLM's (plain, with squares, detailed), SGLang's, ATOM's, PyTorch's."""
    return _ranked(name)[1]


def _ranked(name: str) -> tuple[int, StepName | None]:
    for rank, pattern, build in _READERS:
        match = pattern.search(name[:1024])
        if match:
            return rank, build(match)
    return _NO_STEP, None


def _plain(match: re.Match[str]) -> StepName:
    requests, tokens, running, generated = (int(found) for found in match.groups())
    return StepName(_phase(requests, running), requests, tokens, running, generated)


def _detailed(match: re.Match[str]) -> StepName:
    numbers = [int(found) for found in match.groups()]
    _, requests, queries, _, _, query_key, running, generated, keys, _, running_query_key = numbers
    phase = _phase(requests, running)
    return StepName(phase, requests, queries, running, generated, query_key, running_query_key, keys)


def _sglang(match: re.Match[str]) -> StepName:
    fields = {key: int(value) for key, value in _FIELD.findall(match.group(2))}
    requests, tokens = fields.get("bs"), fields.get("toks", fields.get("tokens"))
    phase = {"EXTEND": "prefill", "DECODE": "decode", "MIXED": "mixed"}.get(match.group(1).upper(), "empty")
    return _one_sided(phase, requests, tokens)


def _atom(match: re.Match[str]) -> StepName:
    fields = {key: int(value) for key, value in _FIELD.findall(match.group(2))}
    return _one_sided(match.group(1), fields.get("bs"), fields.get("toks", fields.get("tokens")))


def _one_sided(phase: str, requests: int | None, tokens: int | None) -> StepName:
    if phase == "prefill":
        return StepName("prefill", requests, tokens, 0, 0)
    if phase == "decode":
        return StepName("decode", 0, 0, requests, tokens if tokens is not None else requests)
    return StepName("mixed" if phase == "mixed" else "empty")


def _phase(context: int, generation: int) -> Phase:
    if context and generation:
        return "mixed"
    if context:
        return "prefill"
    return "decode" if generation else "empty"


# Some stacks nest one kind of annotation in another: the kind with the lowest rank that occurs is the step.
_CAPTURE_RANK, _NO_STEP = 3, 9
_READERS: tuple[tuple[int, re.Pattern[str], Callable[[re.Match[str]], StepName]], ...] = (
    (0, _VLLM, _plain),
    (0, _DETAILED, _detailed),
    (1, _SGLANG, _sglang),
    (2, _ATOM, _atom),
    (_CAPTURE_RANK, _CAPTURE, lambda _: StepName("capture")),
    (4, _TRAINING, lambda _: StepName("other")),
)


class Steps(msgspec.Struct, frozen=True):
    """The steps of a trace in the order of their start; ``start`` and ``duration`` are the host's range, ns."""

    start: Ints
    duration: Ints
    thread: Ints
    names: tuple[StepName, ...]
    texts: tuple[str, ...]

    @property
    def end(self) -> Ints:
        return self.start + self.duration

    def __len__(self) -> int:
        return len(self.start)


def find_steps(trace: Trace) -> Steps:
    """All step annotations of one kind. PyTorch's own ``ProfilerStep`` counts only where no engine step is named."""
    ranges = trace.ranges
    parsed = {number: _ranked(trace.names[number]) for number in np.unique(ranges.name).tolist()}
    best = min((rank for rank, _ in parsed.values()), default=_NO_STEP)
    wanted = [number for number, (rank, step) in parsed.items() if step and rank in (best, _CAPTURE_RANK)]
    rows = np.flatnonzero(np.isin(ranges.name, wanted))
    rows = rows[np.argsort(ranges.start[rows], kind="stable")]
    names = ranges.name[rows].tolist()
    found = tuple(step for number in names if (step := parsed[number][1]) is not None)
    texts = tuple(trace.names[number] for number in names)
    return Steps(ranges.start[rows], ranges.duration[rows], ranges.thread[rows], found, texts)


def call_of_work(trace: Trace) -> NDArray[np.int64]:
    """For each row of GPU work the row of the call that launched it, -1 where the call is not in the window."""
    correlation, calls = trace.work.correlation, trace.calls.correlation
    if not len(calls):
        return np.full(len(correlation), ABSENT, dtype=np.int64)
    order = np.argsort(calls, kind="stable")
    place = np.minimum(np.searchsorted(calls[order], correlation), len(calls) - 1)
    found = order[place]
    linked = (calls[found] == correlation) & (correlation >= 0)
    return np.where(linked, found, ABSENT)


def innermost(ranges: Steps | Ranges, times: Ints, threads: Ints) -> NDArray[np.int64]:
    """For each time on its thread the range open then that started last, -1 where none is."""
    found = np.full(len(times), ABSENT, dtype=np.int64)
    for thread in np.unique(threads).tolist():
        of_thread = np.flatnonzero(ranges.thread == thread)
        asked = np.flatnonzero(threads == thread)
        if len(of_thread):
            found[asked] = _innermost(ranges.start[of_thread], ranges.end[of_thread], of_thread, times[asked])
    return found


def _innermost(start: Ints, end: Ints, rows: NDArray[np.intp], times: Ints) -> NDArray[np.int64]:
    order = np.argsort(start, kind="stable")
    start, end, rows = start[order], end[order], rows[order]
    parent = _parents(start, end)
    place = np.searchsorted(start, times, side="right") - 1
    while True:  # step outwards from those that have ended; as many rounds as ranges are nested
        over = place >= 0
        over[over] = end[place[over]] < times[over]
        if not over.any():
            break
        place[over] = parent[place[over]]
    return np.where(place >= 0, rows[np.maximum(place, 0)], ABSENT)


def _parents(start: Ints, end: Ints) -> NDArray[np.int64]:
    """For ranges sorted by start: the last earlier one that is still open at, or ends after, this one's end."""
    parent = np.arange(-1, len(start) - 1, dtype=np.int64)
    if len(start) < 2 or bool((end[:-1] < start[1:]).all()):
        return np.full(len(start), ABSENT, dtype=np.int64)
    ends = end.tolist()
    parents = parent.tolist()
    for row in range(len(ends)):
        above = parents[row]
        while above >= 0 and ends[above] <= ends[row]:
            above = parents[above]
        parents[row] = above
    return np.array(parents, dtype=np.int64)


def step_of_calls(calls: Calls, steps: Steps) -> NDArray[np.int64]:
    """The step in whose annotation each call was made, -1 outside any."""
    return innermost(steps, calls.start, calls.thread)


def step_of_work(call: NDArray[np.int64], call_step: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row of GPU work its step, by kernel, correlation, launching call and annotation; -1 outside any.

    Never by time: with asynchronous scheduling a step's kernels run during the next step's annotation, and a time
    window catches 0 to 17% of them.
    """
    step = np.full(len(call), ABSENT, dtype=np.int64)
    rows = np.flatnonzero(call >= 0)
    step[rows] = call_step[call[rows]]
    return step
