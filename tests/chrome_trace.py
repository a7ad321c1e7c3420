"""Chrome traces for tests: a small writer in each layout that real files have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

LAYOUTS = ("profiler", "compact", "indented", "sorted", "tight")
BASE_US = 5_143_871_000_000  # a real file's clock, under 2^43


def kernel(name: str, start: float, duration: float, correlation: int = -1, **args: Any) -> dict[str, Any]:
    """A kernel ``start`` microseconds after the base."""
    given = {"device": 0, "stream": 7, "correlation": correlation, **args}
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": at(start),
        "dur": duration,
        "args": given,
    }


def memcpy(kind: str, start: float, duration: float, size: int, correlation: int = -1) -> dict[str, Any]:
    return {**kernel(f"Memcpy {kind}", start, duration, correlation, bytes=size), "cat": "gpu_memcpy"}


def call(name: str, start: float, duration: float, correlation: int, thread: int = 100) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "cuda_runtime", "name": name, "pid": 100, "tid": thread, "ts": at(start), "dur": duration,
        "args": {"cbid": 211, "correlation": correlation},
    }  # fmt: skip


def annotation(name: str, start: float, duration: float, thread: int = 100) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "user_annotation", "name": name, "pid": 100, "tid": thread, "ts": at(start), "dur": duration,
        "args": {"External id": 1},
    }  # fmt: skip


def instant(device: int, allocated: int, reserved: int, kind: int = 1) -> dict[str, Any]:
    args = {"Device Type": kind, "Device Id": device, "Total Allocated": allocated, "Total Reserved": reserved}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": at(0),
        "args": args,
    }


def at(start: float) -> float:
    return round(BASE_US + start, 3)


def document(events: list[dict[str, Any]], **header: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, **header, "traceEvents": events, "traceName": "trace.json"}


def render(content: dict[str, Any] | list[Any], layout: str = "profiler") -> bytes:
    """The document's text as PyTorch's profiler or a JSON library writes it."""
    if layout == "compact":
        return json.dumps(content).encode()
    if layout == "tight":
        return json.dumps(content, separators=(",", ":")).encode()
    if layout == "indented":
        return json.dumps(content, indent=4).encode()
    if layout == "sorted":
        return json.dumps(content, sort_keys=True).encode()
    assert isinstance(content, dict)
    head = {key: value for key, value in content.items() if key not in ("traceEvents", "traceName")}
    events = ",\n".join(written(event) for event in content["traceEvents"])
    opening = json.dumps(head, indent=2)[:-2]
    return f'\n{opening},\n  "traceEvents": [\n{events}\n  ],\n  "traceName": "trace.json"\n}}\n'.encode()


def written(event: dict[str, Any]) -> str:
    """One event in the profiler's own layout."""
    lead = {key: value for key, value in event.items() if key in ("ph", "cat", "s", "name", "pid", "tid")}
    rest = {key: value for key, value in event.items() if key not in lead and key != "args"}
    text = "  {\n    " + json.dumps(lead)[1:-1]
    text += ",\n    " + json.dumps(rest)[1:-1] if rest else ""
    if "args" in event:
        text += ',\n    "args": {\n      ' + json.dumps(event["args"])[1:-1] + "\n    }"
    return text + "\n  }"


def write(folder: Path, content: bytes, name: str = "t.pt.trace.json", zipped: bool = False) -> Path:
    path = folder / (name + ".gz" if zipped else name)
    path.write_bytes(gzip.compress(content, compresslevel=4) if zipped else content)
    return path
