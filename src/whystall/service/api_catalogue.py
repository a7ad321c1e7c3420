"""``/api/catalogue``: what causes are called, and the words that the reports and the dashboard share."""

from __future__ import annotations

import functools

from aiohttp import web

from whystall.causes.catalogue import catalogue
from whystall.model.dashboard import Catalogue, CatalogueCause
from whystall.reports.phrases import PHRASES

from .api_answers import answered


@functools.cache
def words() -> Catalogue:
    """The causes and the phrases. They do not change while the service runs."""
    causes = {id: CatalogueCause(entry.title, entry.what, entry.first_step) for id, entry in catalogue().items()}
    return Catalogue(causes, PHRASES)


async def get_catalogue(request: web.Request) -> web.Response:
    """The catalogue in the reader's language."""
    return answered(request, words())
