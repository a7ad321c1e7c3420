"""Files that are whole or not there, whatever is killed meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from whystall.errors import NotWritable


def write_whole(path: Path, body: bytes) -> None:
    """Replace ``path`` by ``body``: after a crash it holds the old or the new content, never a part. Raises NotWritable."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with draft.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise NotWritable(
            f"{path} cannot be written: {error.strerror}", "Free space, or set XDG_STATE_HOME."
        ) from error


def append_line(path: Path, line: bytes) -> None:
    """Put a line at the end of ``path`` and wait until it is on the disk. Raises NotWritable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = not path.exists()
        with path.open("a+b") as file:
            file.write((b"" if _ends_well(file) else b"\n") + line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if fresh:
            sync_folder(path.parent)
    except OSError as error:
        raise NotWritable(
            f"{path} cannot be written: {error.strerror}", "Free space, or set XDG_STATE_HOME."
        ) from error


def _ends_well(file: BinaryIO) -> bool:
    """Whether the last line is a whole one; what was killed while it wrote left half of one."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def sync_folder(folder: Path) -> None:
    """A name in a folder is only safe once the folder is."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
