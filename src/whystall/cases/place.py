"""Where the cases are kept when nobody says where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FILE_NAME = "cases.sqlite"


def default_store(environ: Mapping[str, str]) -> Path:
    """``cases.sqlite`` in the user's state folder: ``$XDG_STATE_HOME/whystall``, else ``~/.local/state/whystall``.

    Source: XDG Base Directory Specification 0.8; a relative ``XDG_STATE_HOME`` is to be ignored.
    """
    state = Path(environ.get("XDG_STATE_HOME", ""))
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return (state if state.is_absolute() else home / ".local" / "state") / "whystall" / FILE_NAME
