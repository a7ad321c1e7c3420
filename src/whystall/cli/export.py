"""``whystall export``: alert rules and dashboards for the tools that people already run."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from whystall.errors import NotWritable
from whystall.model.duration import parse_duration
from whystall.model.slo import Slo
from whystall.reports.exports.figures import DEFAULT_WINDOW, Queries
from whystall.reports.exports.grafana import BoardsAsked, board_text, boards
from whystall.reports.exports.rules import RulesAsked, rules_file
from whystall.sources.dialects.page_names import Style

from .language import language
from .options import LANG, SLO
from .output import Output

STYLE = click.option(
    "--names",
    "style",
    type=click.Choice(get_args(Style)),
    default="vllm",
    show_default=True,
    help="How the metrics are spelled: on vLLM's own page, or on Ray's.",
)


@click.group()
def export() -> None:
    """Write alert rules and dashboards, from the catalogue that the diagnosis has."""


@export.command(short_help="Write Prometheus recording and alerting rules.")
@SLO
@STYLE
@click.option(
    "--window", default=DEFAULT_WINDOW, show_default=True, metavar="DURATION", help="Of rates: four scrape intervals."
)
@click.option("--docs", default="", metavar="URL", help="Where these pages are published, for runbook_url.")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE.")
@LANG
def alerts(slo: Slo | None, style: Style, window: str, docs: str, file: Path | None, lang: str | None) -> int:
    """Write Prometheus rules: records, alerts by cause, alerts on what users feel.

    With --slo the alerts on symptoms stand at what you promised. Check the file with: promtool check rules FILE.
    """
    output = Output(file=file)
    output.check()
    asked = RulesAsked(Queries(style, promql_duration(window)), slo, docs, language(lang))
    output.write(rules_file(asked))
    return 0


@export.command(short_help="Write Grafana dashboards as JSON.")
@SLO
@STYLE
@click.option("--board", type=click.Choice(["fleet", "engine"]), help="Only this one, on the standard output.")
@click.option(
    "-d", "--directory", type=click.Path(file_okay=False, path_type=Path), help="Write the boards into this folder."
)
@LANG
def grafana(slo: Slo | None, style: Style, board: str | None, directory: Path | None, lang: str | None) -> int:
    """Write Grafana dashboards as JSON: all engines, and one engine.

    Import them by hand, or put them where Grafana's provisioning looks (whystall init writes that too). Without
    --directory the board that --board names goes to the standard output.
    """
    made = boards(BoardsAsked(style, slo, language(lang)))
    if directory is None:
        click.echo(board_text(made[f"whystall-{board or 'fleet'}"]), nl=False)
        return 0
    wanted = {
        directory / f"{name}.json": one for name, one in made.items() if board in (None, name[len("whystall-") :])
    }
    for path, one in wanted.items():  # all of them before a line is said: who reads the lines may have left, as `head`
        write_file(path, board_text(one))
    click.echo("".join(f"{path}\n" for path in wanted), nl=False)
    return 0


def promql_duration(text: str) -> str:
    """A length of time as PromQL writes it, in whole milliseconds. Raises UsageError for what is none."""
    milliseconds = round(parse_duration(text) * 1000)
    for size, unit in ((3_600_000, "h"), (60_000, "m"), (1000, "s")):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


def write_file(path: Path, text: str) -> None:
    """Write ``text``, making the folder. Raises :class:`~whystall.errors.NotWritable`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWritable(f"{path} cannot be written: {error.strerror}", "Choose another folder.") from error
