"""Events of a Chrome trace as PyTorch's profiler writes them: typed decoding, and what to do with broken ones."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, TypeVar

import msgspec

Number = int | float


class _KernelArgs(msgspec.Struct, gc=False, frozen=True):
    """A kernel's arguments that we use. -1 and "" mean absent."""

    correlation: int = -1
    device: int = -1
    stream: int | str = -1
    external: int = msgspec.field(default=-1, name="External id")
    collective: str = msgspec.field(default="", name="Collective name")
    in_elements: int = msgspec.field(default=-1, name="In msg nelems")
    out_elements: int = msgspec.field(default=-1, name="Out msg nelems")
    dtype: str = ""
    group_size: int = msgspec.field(default=-1, name="Group size")
    group: str = msgspec.field(default="", name="Process Group Name")


class EventArgs(_KernelArgs, gc=False, frozen=True):
    """The arguments of any event that we use."""

    bytes: int | str = -1  # ROCm writes text on the launching call
    device_type: int = msgspec.field(default=-1, name="Device Type")
    device_id: int = msgspec.field(default=-1, name="Device Id")
    allocated: int = msgspec.field(default=-1, name="Total Allocated")
    reserved: int = msgspec.field(default=-1, name="Total Reserved")


Time = TypeVar("Time")


class Event(msgspec.Struct, Generic[Time], gc=False, frozen=True):
    """One event of any kind. ``ts`` and ``dur`` are microseconds as written (float NaN where absent).

    ``Event[Number]`` is fast; ``Event[msgspec.Raw]`` keeps the times as text, because float64 cannot hold epoch
    microseconds with nanoseconds.
    """

    name: str = ""
    ph: str = ""
    cat: str = ""
    pid: int | str = -1
    tid: int | str = -1
    ts: Time = math.nan  # type: ignore[assignment]
    dur: Time = math.nan  # type: ignore[assignment]
    args: EventArgs = EventArgs()


# The same for one kind, with only the fields that it needs: decoding takes two thirds of the time.


class _Link(msgspec.Struct, gc=False, frozen=True):
    correlation: int = -1


class _Allocator(msgspec.Struct, gc=False, frozen=True):
    device_type: int = msgspec.field(default=-1, name="Device Type")
    device_id: int = msgspec.field(default=-1, name="Device Id")
    allocated: int = msgspec.field(default=-1, name="Total Allocated")
    reserved: int = msgspec.field(default=-1, name="Total Reserved")


class _Kernel(msgspec.Struct, Generic[Time], gc=False, frozen=True):
    cat: Literal["kernel", "Kernel"]
    name: str = ""
    pid: int | str = -1
    ts: Time = math.nan  # type: ignore[assignment]
    dur: Time = math.nan  # type: ignore[assignment]
    args: _KernelArgs = _KernelArgs()


class _Launch(msgspec.Struct, Generic[Time], gc=False, frozen=True):
    cat: Literal[
        "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "mtia_runtime", "privateuse1_runtime", "Runtime"
    ]
    name: str = ""
    tid: int | str = -1
    ts: Time = math.nan  # type: ignore[assignment]
    dur: Time = math.nan  # type: ignore[assignment]
    args: _Link = _Link()


class _OperatorArgs(msgspec.Struct, gc=False, frozen=True):
    external: int = msgspec.field(default=-1, name="External id")
    dims: Any = msgspec.field(default=None, name="Input Dims")
    types: Any = msgspec.field(default=None, name="Input type")


class _Operator(msgspec.Struct, gc=False, frozen=True):
    cat: Literal["cpu_op", "Operator"]
    name: str = ""
    args: _OperatorArgs = _OperatorArgs()


class _Instant(msgspec.Struct, gc=False, frozen=True):
    cat: Literal["cpu_instant_event"]
    args: _Allocator = _Allocator()


Decode = Callable[[bytes], list[Any]]


def _decoders(*kinds: Any) -> tuple[Decode, Decode]:
    plain, exact = (msgspec.json.Decoder(list[kind]).decode for kind in kinds)  # type: ignore[valid-type]
    return plain, exact


_ANY = _decoders(Event[Number], Event[msgspec.Raw])
_BY_KIND = {
    "kernel": _decoders(_Kernel[Number], _Kernel[msgspec.Raw]),
    "launch": _decoders(_Launch[Number], _Launch[msgspec.Raw]),
    "instant": _decoders(_Instant, _Instant),
    "operator": _decoders(_Operator, _Operator),
}
_ONE: tuple[Callable[[bytes], Event[Any]], ...] = (
    msgspec.json.Decoder(Event[Number]).decode,
    msgspec.json.Decoder(Event[msgspec.Raw]).decode,
)

_NAME = re.compile(rb'"name"\s*:\s*"(.*?)"\s*,\s*"(?=(?:ph|cat|pid|tid|ts|dur|args|id|s)"\s*:)', re.DOTALL)
_QUOTE = re.compile(rb'(?<!\\)"')
_STRAY_BACKSLASH = re.compile(rb'\\(?!["\\/bfnrtu])')
_CONTROL = re.compile(rb"[\x00-\x1f]")


class DecodeCounts(msgspec.Struct):
    """What was not right: ``repaired`` were read after a repair of their text, ``rejected`` could not be read."""

    repaired: int = 0
    rejected: int = 0
    first_rejected: str = ""

    def reject(self, text: bytes) -> None:
        self.rejected += 1
        if not self.first_rejected:
            self.first_rejected = text[:120].decode("utf-8", "replace")


def decode_events(document: bytes, kind: str, exact: bool) -> list[Any] | None:
    """The events of a JSON array, with the fields that ``kind`` needs ("": all); None where one is not valid."""
    try:
        return _BY_KIND.get(kind, _ANY)[exact](document)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def decode_each(texts: Iterable[bytes], exact: bool, counts: DecodeCounts) -> list[Event[Any]]:
    """One by one, leaving out (and counting) what cannot be read."""
    found = [decode_event(text, exact, counts) for text in texts]
    return [event for event in found if event is not None]


def decode_event(text: bytes, exact: bool, counts: DecodeCounts) -> Event[Any] | None:
    """One event, repaired where its text is broken in a way that the profiler is known for; None where it is not."""
    try:
        return _ONE[exact](text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        event = _lenient(repaired(text), exact)
    if event is None:
        counts.reject(text)
    else:
        counts.repaired += 1
    return event


def repaired(text: bytes) -> bytes:
    """The event with unescaped quotes, stray backslashes and control characters in its name escaped."""
    text = text.decode("utf-8", "replace").encode()
    match = _NAME.search(text)
    if match is None:
        return text
    name = _STRAY_BACKSLASH.sub(rb"\\\\", match.group(1))
    name = _CONTROL.sub(lambda found: b"\\u%04x" % found.group()[0], _QUOTE.sub(lambda _: b'\\"', name))
    return text[: match.start(1)] + name + text[match.end(1) :]


def _lenient(text: bytes, exact: bool) -> Event[Any] | None:
    """By the standard library, which takes NaN and control characters; wrong types become "absent"."""
    try:
        found = json.loads(text, strict=False, parse_float=_Literal, parse_int=_Literal, parse_constant=_Literal)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    raw_args = found.get("args")
    args = EventArgs(**_typed(raw_args if isinstance(raw_args, dict) else {}))
    texts = [str(value) if isinstance(value := found.get(key), _Literal) else "NaN" for key in ("ts", "dur")]
    name, phase, category = (str(found.get(key) or "") for key in ("name", "ph", "cat"))
    pid, tid = (_whole_or_text(found.get(key)) for key in ("pid", "tid"))
    ts, dur = (msgspec.Raw(value.encode()) if exact else float(value) for value in texts)
    return Event(name=name, ph=phase, cat=category, pid=pid, tid=tid, ts=ts, dur=dur, args=args)


class _Literal(str):
    """A number as it was written."""


_ARG_NAMES = {field.encode_name: (field.name, field.type) for field in msgspec.structs.fields(EventArgs)}


def _typed(raw: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, (name, kind) in _ARG_NAMES.items():
        value = raw.get(key)
        if kind is str and isinstance(value, str):
            kept[name] = str(value)
        elif kind is not str and isinstance(value, _Literal) and value.lstrip("-").isdigit():
            kept[name] = int(value)
    return kept


def _whole_or_text(value: object) -> int | str:
    if isinstance(value, _Literal) and value.lstrip("-").isdigit():
        return int(value)
    return str(value) if isinstance(value, str) else -1
