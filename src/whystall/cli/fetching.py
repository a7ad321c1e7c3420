"""What ``whystall trace`` reads from a server: its address becomes a file that lives as long as the command."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whystall.sources.ray.question import is_ray, parse_ray, ray_token
from whystall.sources.ray.timeline import read_timeline

from .reading import Asked


@contextmanager
def fetched(named: Sequence[str], asked: Asked) -> Iterator[tuple[Path, ...]]:
    """The files named, and for each ``ray+http://`` its cluster's timeline of tasks. Raises what reading it raises."""
    with tempfile.TemporaryDirectory(prefix="whystall-") as folder:
        yield tuple(_file(name, asked, Path(folder) / f"ray-{n}.json") for n, name in enumerate(named))


def _file(name: str, asked: Asked, path: Path) -> Path:
    if not is_ray(name):
        return Path(name)
    access = asked.of(name).access
    path.write_bytes(asyncio.run(read_timeline(parse_ray(name).address, access.or_token(ray_token()))))
    return path
