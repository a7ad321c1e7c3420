"""The same figures the slow way: plain json, Decimal, sweep lines and loops. Shares no code with what it checks."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from typing import Any

GPU = {"kernel": 0, "Kernel": 0, "gpu_memcpy": 1, "Memcpy": 1, "gpu_memset": 2, "Memset": 2}
CALLS = {
    "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "mtia_runtime", "privateuse1_runtime", "Runtime",
}  # fmt: skip
STEP = re.compile(r"execute_(?:\d+_)?context_(\d+)\(.*?\)_generation_(\d+)\(")


def nanoseconds(text: Any) -> int | None:
    """Microseconds as written to whole nanoseconds."""
    if isinstance(text, int):
        return text * 1000
    if not isinstance(text, Decimal) or not text.is_finite():
        return None
    return int((text * 1000).to_integral_value())


def load(text: str) -> dict[str, Any]:
    """A document with every number that is not whole a Decimal."""
    found = json.loads(text, strict=False, parse_float=Decimal, parse_constant=Decimal)
    return found if isinstance(found, dict) else {"traceEvents": found}


def sweep(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union, by a sweep line over starts and ends."""
    points = sorted([(start, 0) for start, _ in intervals] + [(end, 1) for _, end in intervals])
    merged, depth, opened = [], 0, 0
    for time, closing in points:
        if not closing:
            if depth == 0:
                opened = time
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                merged.append((opened, time))
    return merged


def length(intervals: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in sweep(intervals))


def overlap(merged: list[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in merged)


class Row:
    """A row of GPU work."""

    def __init__(self, event: dict[str, Any], start: int, duration: int) -> None:
        args = event.get("args") or {}
        self.start, self.duration, self.end = start, duration, start + duration
        self.name, self.kind = event.get("name", ""), GPU[event["cat"]]
        device = args.get("device", event.get("pid", -1))
        self.device = int(device) if isinstance(device, int) else -1
        correlation = args.get("correlation")
        self.correlation = int(correlation) if isinstance(correlation, int) else -1
        self.bytes = int(args["bytes"]) if "bytes" in args else -1
        self.call: dict[str, Any] | None = None
        self.step = -1


class Exact:
    """A document's figures. ``classify`` maps a kernel's name to (class, family)."""

    def __init__(self, document: dict[str, Any], classify: Any) -> None:
        self.rows: list[Row] = []
        self.calls: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.memory: dict[int, list[tuple[int, int]]] = defaultdict(list)
        events = document["traceEvents"]
        self.events = len(events)
        for event in events:
            self._take(event)
        self._link()
        for row in self.rows:
            row.id, row.family = ("copy", "copy") if row.kind else classify(row.name)  # type: ignore[attr-defined]

    def _take(self, event: dict[str, Any]) -> None:
        args = event.get("args") or {}
        if event.get("cat") == "cpu_instant_event" and event.get("ph") == "i" and args.get("Device Type") == 1:
            pair = (int(args["Total Allocated"]), int(args["Total Reserved"]))
            self.memory[int(args["Device Id"])].append(pair)
        if event.get("ph") != "X":
            return
        start, duration = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
        if start is None or duration is None or duration < 0:
            return
        category = event.get("cat")
        record = {"start": start, "end": start + duration, "tid": event.get("tid", -1), "name": event.get("name", "")}
        if category in GPU:
            self.rows.append(Row(event, start, duration))
        elif category in CALLS:
            correlation = args.get("correlation", -1)
            self.calls.append({**record, "correlation": int(correlation)})
        elif category == "user_annotation" and STEP.search(record["name"]):
            self.steps.append(record)

    def _link(self) -> None:
        self.steps.sort(key=lambda step: step["start"])
        by_correlation: dict[int, dict[str, Any]] = {}
        for call in self.calls:
            by_correlation.setdefault(call["correlation"], call)
        for row in self.rows:
            if row.correlation >= 0:
                row.call = by_correlation.get(row.correlation)
            if row.call is not None:
                row.step = self._step_at(row.call["start"], row.call["tid"])

    def _step_at(self, time: int, thread: Any) -> int:
        found = -1
        for number, step in enumerate(self.steps):
            if step["tid"] == thread and step["start"] <= time <= step["end"]:
                found = number
        return found

    @property
    def devices(self) -> list[int]:
        return sorted({row.device for row in self.rows})

    def union(self, wanted: Any) -> int:
        return sum(
            length([(row.start, row.end) for row in self.rows if row.device == device and wanted(row)])
            for device in self.devices
        )

    def classes(self) -> dict[str, tuple[int, int, int]]:
        """Class to count, summed ns and union ns."""
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in self.rows:
            sums[row.id][0] += 1  # type: ignore[attr-defined]
            sums[row.id][1] += row.duration  # type: ignore[attr-defined]
        return {id: (n, ns, self.union(lambda row, id=id: row.id == id)) for id, (n, ns) in sums.items()}

    def exposed(self) -> int:
        others = self.union(lambda row: row.kind == 0 and row.family != "collective")
        return self.union(lambda row: row.kind == 0) - others

    def idle(self) -> dict[str, int]:
        """Idle time by reason."""
        blocking = re.compile(r"^(cuda|hip|cu)Memcpy(?!\w*Async)")
        copies = sweep([(call["start"], call["end"]) for call in self.calls if blocking.search(call["name"])])
        parts = dict.fromkeys(("idle", "launch", "between_steps", "copy", "device", "unlinked"), 0)
        for device in self.devices:
            rows = sorted((row for row in self.rows if row.device == device), key=lambda row: row.start)
            self._idle(rows, copies, parts)
        return parts

    def _idle(self, rows: list[Row], copies: list[tuple[int, int]], parts: dict[str, int]) -> None:
        latest = rows[0]
        for row in rows[1:]:
            if row.start > latest.end:
                gap, waited = row.start - latest.end, overlap(copies, latest.end, row.start)
                parts["idle"] += gap
                parts["copy"] += waited
                parts[self._reason(latest, row)] += gap - waited
            if row.end > latest.end:
                latest = row

    def _reason(self, before: Row, after: Row) -> str:
        if after.call is None:
            return "unlinked"
        if after.call["end"] <= before.end:
            return "device"
        return "between_steps" if self.steps and before.step != after.step else "launch"

    def phases(self) -> dict[str, tuple[int, int]]:
        """Phase to summed ns and union ns, by the steps' names."""
        names = []
        for step in self.steps:
            match = STEP.search(step["name"])
            assert match is not None
            context, generation = int(match.group(1)), int(match.group(2))
            names.append(("mixed" if generation else "prefill") if context else "decode" if generation else "empty")
        found = {}
        for phase in {*names, "outside"} if names else set():
            numbers = [n for n, name in enumerate(names) if name == phase] or ([-1] if phase == "outside" else [])
            ns = sum(row.duration for row in self.rows if row.step in numbers)
            found[phase] = (ns, self.union(lambda row, numbers=numbers: row.step in numbers))
        return found
