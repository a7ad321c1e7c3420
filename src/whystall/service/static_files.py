"""The dashboard's files: what is in ``web/``, and the charts that the reports have already."""

from __future__ import annotations

import functools
from importlib import resources
from importlib.resources.abc import Traversable

from aiohttp import web

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SHARED = ("uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE", "numbers.js", "timeline.js")
_PAGE = "index.html"


@functools.cache
def files() -> dict[str, tuple[bytes, str]]:
    """Every file by the path under which it is served: its bytes and its type."""
    ours = {f"/web/{item.name}": item for item in (resources.files("whystall.service") / "web").iterdir()}
    assets = resources.files("whystall.reports") / "assets"
    found = {path: _read(item) for path, item in ours.items() if _suffix(item.name) in _TYPES}
    found |= {f"/web/{name}": _read(assets / name) for name in _SHARED}
    found["/"] = found.pop(f"/web/{_PAGE}")
    return found


def open_paths() -> frozenset[str]:
    """What is served without a token: the page asks for it, and nothing in it is a secret."""
    return frozenset(files())


async def get_file(request: web.Request) -> web.Response:
    """One of the files; any other name is not found, so no path leads elsewhere."""
    found = files().get(request.path)
    if found is None:
        raise web.HTTPNotFound(reason="no such file")
    body, kind = found
    return web.Response(body=body, content_type=kind, charset="utf-8")


def _read(item: Traversable) -> tuple[bytes, str]:
    return item.read_bytes(), _TYPES.get(_suffix(item.name), "text/plain")


def _suffix(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else ""
