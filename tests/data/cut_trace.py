"""Cuts a few steps out of a profiler trace, so that every clone has a real one.

python tests/data/cut_trace.py ../shared/traces/h200_m8b_graph.pt.trace.json.gz tests/data/traces/h200_m8b.json.gz 4
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

KEPT = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation")


def cut(source: Path, target: Path, steps: int) -> None:
    """Keep the first ``steps`` steps, the calls made until the last of them ended, and the work those launched."""
    document = json.loads(gzip.decompress(source.read_bytes()))
    events = document.pop("traceEvents")
    end = sorted(e["ts"] + e["dur"] for e in events if e.get("cat") == "user_annotation")[steps - 1]
    calls = [e for e in events if e.get("cat", "").startswith("cuda_") and e["ts"] < end]
    linked = {e["args"].get("correlation") for e in calls}
    kept = [event for event in events if wanted(event, end, linked)]
    document["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 1}
    head = json.dumps(document)[:-1]
    body = ",\n".join(json.dumps(event) for event in kept)
    text = f'{head}, "traceEvents": [\n{body}\n], "traceName": "cut"}}\n'
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def wanted(event: dict[str, Any], end: float, linked: set[int | None]) -> bool:
    category = event.get("cat", "")
    if category not in KEPT:
        return False
    if category in ("kernel", "gpu_memcpy", "gpu_memset"):
        return event["args"].get("correlation") in linked
    return bool(event["ts"] < end)


if __name__ == "__main__":
    cut(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
