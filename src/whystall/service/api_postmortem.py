"""``/api/cases/{id}/postmortem``: the post-mortem of a kept case as a page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from aiohttp import web

from whystall.cases.book import Book
from whystall.errors import NoSuchCase, StoreDamaged, WhystallError
from whystall.reports.postmortem import postmortem
from whystall.reports.postmortem_html import page_policy, postmortem_html

from .api_answers import language, refused


class PostmortemApi:
    """``cases`` is the store of cases, None where none is kept."""

    def __init__(self, cases: Path | None) -> None:
        self._cases = cases

    async def get(self, request: web.Request) -> web.Response:
        """The page. It brings its own policy: its one script and its style are allowed by their hashes."""
        try:
            text = await asyncio.to_thread(self._written, int(request.match_info["id"]), language(request))
        except NoSuchCase as error:
            raise web.HTTPNotFound(reason="no such case") from error
        except WhystallError as error:
            return refused(error, language(request))
        headers = {"Content-Security-Policy": page_policy()}
        return web.Response(text=text, content_type="text/html", charset="utf-8", headers=headers)

    def _written(self, number: int, lang: str) -> str:
        if self._cases is None:
            raise NoSuchCase("no cases are kept")
        with Book.read(self._cases) as book:
            case = book.case(number)
        try:
            return postmortem_html(postmortem(case, lang))
        except msgspec.ValidationError as error:
            raise StoreDamaged(f"case {number} holds no diagnosis: {error}", "Restore a copy of the store.") from error
