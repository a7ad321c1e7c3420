"""Scale a real trace to a size: its events again and again, moved on in time, with their ids moved too.

Every event is written the way PyTorch's profiler writes it (some public traces were re-indented by those who cut them),
so that parsers and compressors see what a profiler gives them.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from chrome_trace import written

_NUMBER = re.compile(rb'("(?:ts|correlation|id|External id|Ev Idx|Python id|Python parent id)": )(\d+)')
_KEY_TS = b'"ts": '
_IDS = 10_000_000


def scale(source: Path, target: Path, size: int, rank: int | None = None) -> int:
    """Write ``source`` repeated to at least ``size`` bytes to ``target``; the number of copies."""
    document = json.loads(gzip.decompress(source.read_bytes()), strict=False)
    events = document.pop("traceEvents")
    if rank is not None:
        document["distributedInfo"] = {**document.get("distributedInfo", {}), "rank": rank}
    body = ",\n".join(written(event) for event in events).encode()
    head = json.dumps(document, indent=2)[:-2].encode() + b',\n  "traceEvents": [\n'
    copies = max(1, -(-size // len(body)))
    with gzip.open(target, "wb", compresslevel=6) if target.suffix == ".gz" else target.open("wb") as out:
        out.write(b"\n" + head)
        for number, copy in enumerate(_copies(body, events, copies)):
            out.write((b",\n" if number else b"") + copy)
        out.write(b'\n  ],\n  "traceName": "scaled"\n}\n')
    return copies


def _copies(body: bytes, events: list[dict[str, Any]], copies: int) -> Iterator[bytes]:
    times = [event["ts"] for event in events if "ts" in event]
    span = int(max(times) - min(times)) + 1000
    for number in range(copies):
        yield _moved(body, number, span) if number else body


def _moved(body: bytes, number: int, span: int) -> bytes:
    def later(found: re.Match[bytes]) -> bytes:
        step = span if found.group(1) == _KEY_TS else _IDS
        return found.group(1) + str(int(found.group(2)) + number * step).encode()

    return _NUMBER.sub(later, body)


if __name__ == "__main__" and len(sys.argv) > 1:
    scale(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if sys.argv[4] else None)
