"""Markdown for a GitHub issue or a pull request: the answer in sight, the rest folded away."""

from __future__ import annotations

from .finding import Finding
from .markdown import answer_lines, body, causes, code, escaped, facts, grid, joined
from .outlining import outline
from .phrases import say

MOST_CHARACTERS = 65_000  # GitHub refuses a comment over 65,536


class GithubRenderer:
    """A short summary and two foldable blocks; cut where GitHub would refuse it."""

    def render(self, finding: Finding, lang: str) -> str:
        page = outline(finding, lang)
        rows = tuple((one.title, one.chance, one.role_word, one.onset) for one in page.causes)
        columns = tuple(say(name, lang) for name in ("cause", "probability", "role", "onset"))
        short = [*answer_lines(page, 3), grid(columns, rows) if rows else ""]
        folded_engines = [
            part
            for other in page.others
            for part in folded(say("other_engine", lang, id=other.name), [*answer_lines(other, 3), *causes(other, 3)])
        ]
        details = folded(say("details", lang), [facts(page.facts, code), *body(page)])
        whole = joined(short + details + folded_engines)
        return whole if len(whole) <= MOST_CHARACTERS else joined(short)


def folded(title: str, parts: list[str]) -> list[str]:
    """``parts`` in a block that opens on a click."""
    return [f"<details>\n<summary>{escaped(title)}</summary>", *parts, "</details>"]
