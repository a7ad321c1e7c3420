"""Cuts a few consecutive steps out of a PyTorch profiler trace of vLLM, event by event, in the profiler's own text.

::

    python benchmarks/gpu/cut_steps.py SOURCE TARGET FIRST STEPS

Kept are the host's events that begin within those steps, the GPU's that they launched, flows between the two, all
metadata and the header. The window is the host's: under asynchronous scheduling a step's kernels run later than that.
The same FIRST and STEPS on every rank keep the same collectives. Names of files on the machine lose their folders.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOST = {"cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "overhead"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
STEP = "execute_"
_BETWEEN = ",\n  {\n"
_FOLDERS = re.compile(r'"/[^"\n]*/([^"/\n]+\.(?:json|py))"')

Event = dict[str, Any]


def cut(source: Path, target: Path, first: int, steps: int) -> int:
    """Write ``steps`` steps from the ``first`` (from 0) on; the number of events kept."""
    head, _, rest = gzip.decompress(source.read_bytes()).decode().partition('"traceEvents": [\n  {\n')
    body, _, tail = rest.rpartition("\n  ],")
    texts = ["  {\n" + text for text in body.split(_BETWEEN)]
    events = [json.loads(text, strict=False) for text in texts]
    wanted = keeper(events, first, steps)
    kept = [text for text, event in zip(texts, events, strict=True) if wanted(event)]
    whole = _FOLDERS.sub(r'"\1"', f'{head}"traceEvents": [\n' + ",\n".join(kept) + "\n  ]," + tail)
    json.loads(whole, strict=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(whole.encode(), 9, mtime=0))
    return len(kept)


def keeper(events: list[Event], first: int, steps: int) -> Callable[[Event], bool]:
    """Says of an event whether it belongs to the steps."""
    starts = sorted(float(e["ts"]) for e in events if e.get("cat") == "user_annotation" and e["name"].startswith(STEP))
    begin, end = starts[first], starts[first + steps]

    def on_host(event: Event) -> bool:
        return event.get("cat") in HOST and begin <= float(event["ts"]) < end

    launches = {e["args"]["correlation"] for e in events if on_host(e) and "correlation" in e.get("args", {})}
    annotations = {e["args"]["External id"] for e in events if on_host(e) and e["cat"] == "user_annotation"}

    def wanted(event: Event) -> bool:
        category = event.get("cat")
        if category in GPU:
            return event["args"].get("correlation") in launches
        if category == "gpu_user_annotation":
            return event["args"].get("External id") in annotations
        if category == "ac2g":
            return event["id"] in launches
        return on_host(event) if category in HOST else True

    return wanted


if __name__ == "__main__":
    print(cut(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])), "events")
