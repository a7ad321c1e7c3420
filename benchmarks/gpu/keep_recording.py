"""Makes of a folder that ``tensor_parallel.py`` recorded one small enough to keep, without what tells of the machine.

::

    python benchmarks/gpu/keep_recording.py SOURCE LOG TARGET

Pages lose help texts, Python's own metrics and creation times, four fifths of their text; ``server_info`` keeps the
configuration and vLLM's own settings; paths lose the folders of the machine. LOG is the server's, shared by its runs.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

_DROPPED = re.compile(r"# HELP |(# TYPE )?python_|(# TYPE )?[a-z:_]+_created\b")
_MACHINE = re.compile(r"/(?:root/\.cache|root/\.config|opt/torch/\.venv|opt/tp)/")
_KEPT_INFO = ("vllm_config", "vllm_env")


def keep(source: Path, log: Path, target: Path) -> None:
    """Write the recording ``source`` into ``target``, all but the version packed."""
    target.mkdir(parents=True, exist_ok=True)
    pages = (source / "metrics.prom").read_text().splitlines(keepends=True)
    _pack(target / "metrics.prom.gz", "".join(line for line in pages if not _DROPPED.match(line)))
    info = json.loads((source / "server_info.json").read_text())
    _pack(target / "server_info.json.gz", json.dumps({key: info[key] for key in _KEPT_INFO}))
    _pack(target / "server.log.gz", log.read_text(errors="replace"))
    for name in ("gpu.jsonl", "requests.jsonl"):
        _pack(target / f"{name}.gz", (source / name).read_text())
    for name in ("version.json", "run.json"):
        (target / name).write_text((source / name).read_text())


def _pack(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(_MACHINE.sub("/", text).encode(), 9, mtime=0))


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
