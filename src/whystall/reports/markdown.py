"""Markdown for a ticket, a chat or a wiki: plain tables, no HTML."""

from __future__ import annotations

import re
from collections.abc import Callable

from .finding import Finding
from .outline import CauseBlock, EvidenceRow, Fact, MemoryBar, Outline, Table, WhyRow
from .outlining import outline
from .phrases import say

# What starts markup anywhere in a line. "<" and "&" would start HTML; "@" and "#" call people and issues on GitHub.
# An underscore inside a word, as names have it, starts nothing.
_MARKUP = re.compile(r"([\\`*{}\[\]<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_CALLS = re.compile(r"([@#])(?=\w)")
_LINKS = re.compile(r"(?i)\b(https?|ftp|www)([:.])")


class MarkdownRenderer:
    """A report as Markdown that every dialect with tables reads."""

    def render(self, finding: Finding, lang: str) -> str:
        page = outline(finding, lang)
        parts = [*answer_lines(page, 1), facts(page.facts, code), *body(page)]
        for other in page.others:
            title = f"## {escaped(say('other_engine', lang, id=other.name))}"
            parts += [title, *answer_lines(other, 3), *causes(other, 3)]
        return joined(parts)


def joined(parts: list[str]) -> str:
    """Blocks with one blank line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """``text`` as it stands: no markup, no links, nobody called."""
    plain = _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))
    # A word joiner breaks what would become a mention or a link, and shows as nothing.
    return _LINKS.sub("\\1\u2060\\2", _CALLS.sub("\\1\u2060", plain))


def code(text: str) -> str:
    """``text`` as a code span, whatever it holds."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(0xFF5C))}{pad}{fence}" if text.strip() else ""


def answer_lines(page: Outline, level: int) -> list[str]:
    """The answer, the three lines that come first; the headline is the heading."""
    answer = page.answer
    first = f"{'#' * level} {answer.mark} {escaped(answer.word)}: {escaped(answer.headline)}"
    return [f"{first}\n{escaped(answer.since)}  \n{escaped(answer.first + answer.note)}"]


def body(page: Outline) -> list[str]:
    """All sections under the answer."""
    lang = page.lang
    parts = (
        worded(page.wording, page.worded_by, lang)
        + section(page.table("warnings"))
        + section(page.engines)
        + causes(page, 2)
    )
    if page.impact:
        note = f" ({escaped(page.impact_note)})" if page.impact_note else ""
        parts += [f"## {page.impact_title}{note}", facts(page.impact)]
    for id in ("remedies", "not_offered", "similar", "ruled_out", "who", "cohorts"):
        parts += section(page.table(id))
    parts += evidence(page)
    for id in ("lags", "limits", "identities"):
        parts += section(page.table(id))
    return parts + memory(page.memory, lang) + coverage(page)


def worded(wording: tuple[str, ...], by: str, lang: str) -> list[str]:
    """The answer in other words, or nothing where it was not worded."""
    return [f"## {say('worded', lang)}", *map(escaped, wording), f"*{escaped(by)}*"] if wording else []


def section(table: Table | None) -> list[str]:
    return [f"## {escaped(table.title)}", escaped(table.note), grid(table.columns, table.rows)] if table else []


def grid(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """A Markdown table."""
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(
        "| " + " | ".join(cell if cell == "---" else escaped(cell) for cell in line) + " |" for line in lines
    )


def facts(pairs: tuple[Fact, ...], written: Callable[[str], str] = escaped) -> str:
    """Label and value, a pair an item; ``written`` is :func:`code` for what a server or a user named."""
    return "\n".join(f"- {escaped(fact.label)}: {written(fact.value)}" for fact in pairs)


def causes(page: Outline, level: int) -> list[str]:
    """The causes with their whys."""
    title = f"{'#' * level} {say('causes', page.lang)}"
    if not page.causes:
        return [title, say("no_causes", page.lang)]
    return [
        title,
        *(part for rank, one in enumerate(page.causes, 1) for part in _cause(rank, one, page.lang, level + 1)),
    ]


def _cause(rank: int, cause: CauseBlock, lang: str, level: int) -> list[str]:
    name = escaped(cause.title) + (f" ({code(cause.id)})" if cause.id != cause.title else "")
    pairs = (
        ("probability", cause.chance),
        ("role", cause.role_word),
        ("onset", cause.onset),
        ("binding_limit", cause.limit),
        ("emulated", cause.reproduced),
        ("evidence_for", ", ".join(row.id for row in cause.evidence_for)),
        ("evidence_against", ", ".join(row.id for row in cause.evidence_against)),
    )
    shown = tuple(Fact(say(key, lang), value) for key, value in pairs if value)
    parts = [f"{'#' * level} {rank}. {name}", escaped(cause.summary), facts(shown)]
    if cause.whys:
        parts += [f"**{say('why', lang)}**", "\n".join(_why(at, why) for at, why in enumerate(cause.whys, 1))]
    return parts


def _why(at: int, why: WhyRow) -> str:
    mark = "✔" if why.holds else "✘"
    lines = [f"{at}. {mark} {escaped(why.word)}: {escaped(why.claim)}"]
    lines += [
        f"   - **{escaped(row.value)}** {escaped(row.text + ' ').lstrip()}({code(row.id)})" for row in why.numbers
    ]
    lines += [f"   - {escaped(why.rejects)}"] if why.rejects else []
    return "\n".join(lines)


def evidence(page: Outline) -> list[str]:
    if not page.evidence:
        return []
    names = ("evidence", "value", "statement", "speaks", "from", "over", "onset")
    columns = tuple(say(name, page.lang) for name in names)
    return [f"## {say('evidence', page.lang)}", grid(columns, tuple(map(_row, page.evidence)))]


def _row(row: EvidenceRow) -> tuple[str, ...]:
    text = f"{row.text} ({row.departs})" if row.departs else row.text
    return (row.id, row.value, text, row.speaks, row.source, row.over, row.onset)


def memory(bar: MemoryBar | None, lang: str) -> list[str]:
    if bar is None:
        return []
    rows = tuple((part.label, part.size, part.percent, part.known, part.text) for part in bar.parts)
    columns = tuple(say(name, lang) for name in ("part", "size", "share", "known", "statement"))
    return [f"## {say('memory', lang)} ({escaped(bar.note)})", grid(columns, rows)]


def coverage(page: Outline) -> list[str]:
    pairs = ((say("signals_seen", page.lang), page.signals), (say("unknown_names", page.lang), page.unknown_names))
    missing = page.table("missing")
    return [
        f"## {say('coverage', page.lang)}",
        facts(tuple(Fact(label, value) for label, value in pairs if value)),
        grid(missing.columns, missing.rows) if missing else "",
    ]
