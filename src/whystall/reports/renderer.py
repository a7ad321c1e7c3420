"""One door for every renderer: a format's name, and a finding that becomes text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from whystall.errors import UsageError

from .finding import Finding

FORMATS = ("text", "json", "markdown", "html", "github")


class Renderer(Protocol):
    """Turns a finding into the text of one format, in one language."""

    def render(self, finding: Finding, lang: str) -> str: ...


def render(
    finding: Finding,
    format: str,
    lang: str = "en",
    width: int | None = None,
    color: bool = False,
    all_evidence: bool = False,
) -> str:
    """``finding`` in one of ``FORMATS``. ``width`` (columns), ``color`` and ``all_evidence`` matter to ``text`` only.

    Raises :class:`~whystall.errors.UsageError` for a format that there is not.
    """
    if format == "text":
        return _text(width, color, all_evidence).render(finding, lang)
    if format not in _PLAIN:
        raise UsageError(f"{format!r} is not a format of whystall", f"Known are {', '.join(FORMATS)}.")
    return _PLAIN[format]().render(finding, lang)


def _text(width: int | None, color: bool, all_evidence: bool) -> Renderer:
    from .text import TextRenderer

    return TextRenderer(width=width or 80, color=color, all_evidence=all_evidence)


# Each is imported when it is asked for: `--json` should not wait for jinja2, nor HTML for rich.
def _json() -> Renderer:
    from .json import JsonRenderer

    return JsonRenderer()


def _markdown() -> Renderer:
    from .markdown import MarkdownRenderer

    return MarkdownRenderer()


def _github() -> Renderer:
    from .github import GithubRenderer

    return GithubRenderer()


def _html() -> Renderer:
    from .html import HtmlRenderer

    return HtmlRenderer()


_PLAIN: dict[str, Callable[[], Renderer]] = {
    "json": _json,
    "markdown": _markdown,
    "github": _github,
    "html": _html,
}
