"""Makes of a folder that was recorded on a GPU machine one small enough to keep, without what tells of the machine.

::

    python benchmarks/gpu/keep_recording.py SOURCE LOG TARGET    what tensor_parallel.py recorded
    python benchmarks/gpu/keep_recording.py SOURCE TARGET        what whystall record wrote

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
_MACHINE = re.compile(r"/(?:root/\.cache|root/\.config|opt/torch/\.venv|opt/tp|models)/")
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


def keep_recorded(source: Path, target: Path) -> None:
    """As :func:`keep`, of a folder of ``whystall record`` beside which the load wrote ``requests.jsonl``."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".gz":
            text = gzip.decompress(path.read_bytes()).decode(errors="replace")
            if path.name == "metrics.prom.gz":
                text = "".join(line for line in text.splitlines(keepends=True) if not _DROPPED.match(line))
            _pack(target / path.name, text)
        elif path.name == "server_info.json":
            info = json.loads(path.read_text())
            _pack(target / f"{path.name}.gz", json.dumps({key: info[key] for key in _KEPT_INFO if key in info}))
        elif path.name in ("argv.json", "version.json", "models.json"):
            (target / path.name).write_text(_MACHINE.sub("/", path.read_text()))


def _pack(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(_MACHINE.sub("/", text).encode(), 9, mtime=0))


if __name__ == "__main__":
    named = [Path(word) for word in sys.argv[1:]]
    (keep if len(named) == 3 else keep_recorded)(*named)
