"""``/api/traces``: what a profile or a span file says, uploaded or picked from the service's folder."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from aiohttp import web

from whystall.errors import NotATrace, NotWritable, TooLarge, WhystallError
from whystall.model.dashboard import TraceFile, TraceFiles
from whystall.profiles.bytestream import ReadLimits
from whystall.profiles.files import TraceOptions, report_of
from whystall.reports.json import to_json
from whystall.reports.trace_page import trace_page

from .api_answers import answered, language, refused, require_own_page
from .side_process import SideProcess

MAX_UPLOAD_BYTES = 128 << 20  # a gzipped PyTorch profile of some hundred steps takes 5 to 60 MB
MAX_TEXT_BYTES = 2 << 30
MAX_ANSWER_BYTES = 20 << 20
READ_S = 150.0
MOST_FILES = 500
_PIECE_BYTES = 1 << 18
_ODD = re.compile(r"[^\w.\- ]+")


class TracesApi:
    """``folder`` holds files to pick from, None where there is none. Uploads are read and thrown away."""

    def __init__(self, side: SideProcess, folder: Path | None = None, max_bytes: int = MAX_UPLOAD_BYTES) -> None:
        self._side = side
        self._folder = folder
        self._max_bytes = max_bytes

    async def list(self, request: web.Request) -> web.Response:
        """The files to pick from."""
        return answered(request, TraceFiles(await asyncio.to_thread(stored, self._folder), self._max_bytes))

    async def pick(self, request: web.Request) -> web.Response:
        """What one of those files says. A name that is not on the list is not found, whatever path it spells."""
        known = await asyncio.to_thread(stored, self._folder)
        name = request.match_info["name"]
        if self._folder is None or name not in {file.name for file in known}:
            raise web.HTTPNotFound(reason="no such file")
        return await self._read(self._folder / name, language(request))

    async def upload(self, request: web.Request) -> web.Response:
        """What the file in the body says. ``?name=`` is what it is called in the answer."""
        require_own_page(request)
        if (request.content_length or 0) > self._max_bytes:
            return refused(self._too_large(), language(request))
        with tempfile.TemporaryDirectory(prefix="whystall-") as folder:
            path = Path(folder) / plain_name(request.query.get("name", ""))
            try:
                await self._save(request, path)
            except WhystallError as error:
                return refused(error, language(request))
            return await self._read(path, language(request))

    async def _save(self, request: web.Request, path: Path) -> None:
        size = 0
        try:
            with path.open("wb") as out:
                async for piece in request.content.iter_chunked(_PIECE_BYTES):
                    size += len(piece)
                    if size > self._max_bytes:
                        raise self._too_large()
                    await asyncio.to_thread(out.write, piece)
        except OSError as error:
            why = f"the upload cannot be kept while it is read: {error.strerror}"
            raise NotWritable(why, "Make room where temporary files go.") from error
        if not size:
            raise NotATrace("the file is empty", "Choose one that holds something.")

    def _too_large(self) -> TooLarge:
        most = f"{self._max_bytes / 2**20:.3g} MiB"
        return TooLarge(f"the file is larger than {most}", "Run `whystall trace FILE` on it instead.")

    async def _read(self, path: Path, lang: str) -> web.Response:
        try:
            return web.json_response(text=await self._side.run(trace_answer, str(path), lang, timeout_s=READ_S))
        except WhystallError as error:
            return refused(error, lang)


def trace_answer(path: str, lang: str) -> str:
    """The page of the file at ``path`` as JSON of schema ``whystall.trace_page/1``. Raises what its reader raises."""
    options = TraceOptions(limits=ReadLimits(max_bytes=MAX_TEXT_BYTES))
    text = to_json(trace_page(report_of([Path(path)], options), lang), lang)
    if len(text) > MAX_ANSWER_BYTES:
        raise TooLarge(f"the answer takes {len(text) >> 20} MiB", "Run `whystall trace FILE` on it instead.")
    return text


def stored(folder: Path | None) -> tuple[TraceFile, ...]:
    """The plain files in ``folder``, the newest first; links and hidden files are left out."""
    if folder is None or not folder.is_dir():
        return ()
    found = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink() and path.name[0] != "."]
    files = [TraceFile(path.name, stat.st_size, stat.st_mtime) for path in found if (stat := path.stat())]
    return tuple(sorted(files, key=lambda file: -file.modified)[:MOST_FILES])


def plain_name(name: str) -> str:
    """The last part of ``name`` with only what is safe in a file's name."""
    return _ODD.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(". ")[:100] or "upload"
