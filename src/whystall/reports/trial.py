"""A trial for a terminal, a program, a ticket, a browser, or a pull request's checks."""

from __future__ import annotations

from rich.console import Group, RenderableType

from whystall.errors import UsageError
from whystall.model.trial import Trial

from .json import to_json
from .line import Line
from .markdown import escaped, grid, joined, section
from .printable import clean
from .renderer import FORMATS
from .text import printed, table_section
from .trial_outline import answer_lines, headline, trial_tables

_STYLES = {"WIN": "bold green", "HARM": "bold red", "FUTILE": "bold", "INCONCLUSIVE": "bold yellow"}
_LEVELS = {"WIN": "notice", "HARM": "error", "FUTILE": "notice", "INCONCLUSIVE": "warning"}
_FOLDED = ("warm_up", "blocks")
_MOST_BLOCKS = 12  # that a terminal shows; every other format has them all


def render_trial(trial: Trial, format: str, lang: str = "en", width: int | None = None, color: bool = False) -> str:
    """``trial`` in one of ``FORMATS``; ``github`` is :func:`workflow_commands` and below them :func:`job_summary`.

    Raises :class:`~whystall.errors.UsageError` for a format that there is not.
    """
    if format == "json":
        return to_json(trial, lang)
    if format == "html":
        from .trial_html import trial_html  # jinja2 is slow to import

        return trial_html(trial, lang)
    if format == "github":
        return workflow_commands(trial, lang) + job_summary(trial, lang)
    if format == "markdown":
        return joined(_markdown(trial, lang))
    if format == "text":
        return printed(Group(*_text(trial, lang)), width or 80, color)
    raise UsageError(f"{format!r} is not a format of trial", f"Known are {', '.join(FORMATS)}.")


def workflow_commands(trial: Trial, lang: str = "en") -> str:
    """Workflow commands that GitHub shows beside a run: the verdict, and each finding about the measurement."""
    lines = [_command(_LEVELS[trial.verdict], "whystall trial", headline(trial).in_(lang))]
    lines += [_command("warning", f"whystall: {one.id}", one.text.in_(lang)) for one in trial.findings]
    return "".join(line + "\n" for line in lines)


def job_summary(trial: Trial, lang: str = "en") -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``: the answer in sight, blocks folded away."""
    parts = _markdown(trial, lang, folded=True)
    return joined(parts)


def _command(level: str, title: str, text: str) -> str:
    # In a workflow command "%" and line ends must be encoded, in a property ":" and "," as well.
    body = clean(text).replace("%", "%25")
    name = clean(title).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{body}"


def _text(trial: Trial, lang: str) -> list[RenderableType]:
    first, *rest = answer_lines(trial, lang)
    parts: list[RenderableType] = [Line(first, style=_STYLES[trial.verdict]), *map(Line, rest)]
    for table in trial_tables(trial, lang):
        if table.id != "blocks" or len(table.rows) <= _MOST_BLOCKS:
            parts += table_section(table)
    return parts


def _markdown(trial: Trial, lang: str, *, folded: bool = False) -> list[str]:
    first, *rest = map(escaped, answer_lines(trial, lang))
    parts = ["\n".join((f"# {first}", "  \n".join(rest)))]
    for table in trial_tables(trial, lang):
        if folded and table.id in _FOLDED:
            title = f"<details>\n<summary>{escaped(table.title)}</summary>"
            parts += [title, grid(table.columns, table.rows), "</details>"]
        else:
            parts += section(table)
    return parts
