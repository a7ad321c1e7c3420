"""How the dashboard's own parts of the API answer: in the reader's language, an error by its name."""

from __future__ import annotations

import msgspec
from aiohttp import web

from whystall.errors import InputError, TimedOut, TooLarge, Unavailable, UsageError, WhystallError
from whystall.model.failure import Failure
from whystall.model.text import LANGUAGES
from whystall.reports.json import to_json

from .error_words import in_chinese, told


def language(request: web.Request, otherwise: str = "en") -> str:
    """What ``?lang=`` asks for."""
    asked = request.query.get("lang", "")
    return asked if asked in LANGUAGES else otherwise


def answered(request: web.Request, noun: msgspec.Struct) -> web.Response:
    """``noun`` as JSON."""
    return web.json_response(text=to_json(noun, language(request)))


def require_own_page(request: web.Request) -> None:
    """Refuse work that another site's page asks for in its visitor's browser: the answer is not for it, the CPU is ours."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise web.HTTPForbidden(reason="another site's page may not ask for this")


def refused(error: WhystallError, lang: str = "en") -> web.Response:
    """``error`` as JSON of schema ``whystall.error/1``, under the status that goes with it."""
    hint = in_chinese(error.hint) if lang == "zh" else error.hint
    said = Failure(told(error).in_(lang), hint, error.exit_code)
    return web.json_response(text=to_json(said, lang), status=_status(error))


def _status(error: WhystallError) -> int:
    if isinstance(error, TooLarge):
        return 413
    if isinstance(error, UsageError | InputError):
        return 400
    if isinstance(error, TimedOut):
        return 504
    return 503 if isinstance(error, Unavailable) else 500
