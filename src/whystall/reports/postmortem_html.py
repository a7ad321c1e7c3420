"""A post-mortem as one HTML file: no network, no server, and one small script of ours for light and dark."""

from __future__ import annotations

import functools

from markupsafe import Markup

from whystall import __version__

from .html import asset, environment, hashed
from .phrases import say
from .postmortem import Postmortem


def postmortem_html(page: Postmortem) -> str:
    """The whole page. Everything that a case holds is escaped; script and style are allowed by their hashes."""
    return (
        environment()
        .get_template("postmortem.html.j2")
        .render(
            page=page,
            lang="zh-CN" if page.lang == "zh" else "en",
            say=functools.partial(_said, page.lang),
            version=__version__,
            policy=page_policy(),
            style=Markup(_style()),
            script=Markup(asset("postmortem.js")),
        )
    )


def _said(lang: str, key: str, **values: object) -> str:
    return say(key, lang, **values)


@functools.cache
def _style() -> str:
    return asset("report.css") + asset("postmortem.css")


@functools.cache
def page_policy() -> str:
    """The Content-Security-Policy of a post-mortem: script and style by their hashes, and nothing from anywhere."""
    sources = f"style-src '{hashed(_style())}'; script-src '{hashed(asset('postmortem.js'))}'"
    return f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'"
