"""Which language a person reads."""

from __future__ import annotations

import os
from collections.abc import Mapping

from whystall.errors import UsageError
from whystall.model.text import LANGUAGES


def language(asked: str | None, configured: str = "", environ: Mapping[str, str] | None = None) -> str:
    """``--lang``, else ``WHYSTALL_LANG``, else the configuration's, else the locale's, else English.

    Raises :class:`~whystall.errors.UsageError` where ``WHYSTALL_LANG`` is not spoken.
    """
    environ = os.environ if environ is None else environ
    said = asked or environ.get("WHYSTALL_LANG") or configured
    if not said:
        return _of_locale(environ)
    if said not in LANGUAGES:
        raise UsageError(f"{said!r} is not a language of whystall", f"Known are {', '.join(LANGUAGES)}.")
    return said


def _of_locale(environ: Mapping[str, str]) -> str:
    # POSIX order: LC_ALL overrides LC_MESSAGES, which overrides LANG.
    said = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "zh" if said.lower().startswith("zh") else "en"
