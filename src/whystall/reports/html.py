"""The report as one HTML file: no network, no server, nothing from outside run as code."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from whystall import __version__

from .charts import chart_data
from .finding import Finding
from .json import to_json
from .outline import Outline
from .outlining import outline
from .phrases import say

ASSETS = "assets"


class HtmlRenderer:
    """A whole page. Scripts and styles are allowed by their hashes; data stands in blocks that are never run."""

    def render(self, finding: Finding, lang: str) -> str:
        page = outline(finding, lang)
        return (
            environment()
            .get_template("report.html.j2")
            .render(
                page=page,
                pages=[page, *page.others],
                lang="zh-CN" if lang == "zh" else "en",
                say=functools.partial(_said, lang),
                version=__version__,
                policy=_policy(),
                style=Markup(_style()),
                script=Markup(_script()),
                charts=embedded(msgspec.json.encode([chart_data(one, lang) for one in _shown(finding, page)]).decode()),
                diagnosis=embedded(to_json(finding.diagnosis, lang)),
            )
        )


def embedded(json: str) -> Markup:
    """JSON for a ``<script type="application/json">`` block: no character in it can end the block."""
    return Markup(json.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}))


def _said(lang: str, key: str, **values: object) -> str:
    return say(key, lang, **values)


def _shown(finding: Finding, page: Outline) -> list[Finding]:
    # In the order of the template's pages: the outer finding, then the engines it does not stand for.
    worst = finding.diagnosis.engine
    timelines = {one.diagnosis.engine: one.timeline for one in finding.engines}
    rest = [other for other in finding.diagnosis.engines if other.engine != worst]
    return [finding, *(Finding(other, timelines.get(other.engine)) for other in rest)]


@functools.cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("whystall.reports", ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def asset(name: str) -> str:
    return (resources.files("whystall.reports") / ASSETS / name).read_text("utf-8")


@functools.cache
def _style() -> str:
    return asset("uPlot.min.css") + asset("report.css")


@functools.cache
def _script() -> str:
    return "".join(asset(name) for name in ("uPlot.iife.min.js", "numbers.js", "timeline.js", "report.js"))


@functools.cache
def _policy() -> str:
    """The page's Content-Security-Policy: these two blocks by their hashes, and nothing else from anywhere."""
    sources = f"style-src '{hashed(_style())}'; script-src '{hashed(_script())}'"
    return f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'"


def hashed(block: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
