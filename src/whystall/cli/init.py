"""``whystall init``: a first whystall.toml, and what the tools around it need."""

from __future__ import annotations

from pathlib import Path

import click

from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.reports.exports.setup import DEFAULT_TARGET, PARTS, Part, SetupAsked, setup_files
from whystall.sources.live.address import Address

from .export import write_file
from .language import language
from .options import LANG, SLO

_WOULD = Text("would write {place}", "将写入 {place}")
_WROTE = Text("wrote {place}", "已写入 {place}")
_SAME = Text("{place} is so already", "{place} 已是如此")
_NEXT = Text(
    "Next: look through {folder}/whystall.toml, then whystall doctor and whystall diagnose with a target's name.",
    "下一步：查看 {folder}/whystall.toml，然后以目标名运行 whystall doctor 和 whystall diagnose。",
)


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=Path())
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="URL",
    help=f"A server to look at; may be repeated [default: {DEFAULT_TARGET}].",
)
@click.option(
    "--only", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part; may be repeated [default: all]."
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@SLO
@LANG
def init(
    folder: Path,
    targets: tuple[str, ...],
    parts: tuple[Part, ...],
    dry_run: bool,
    force: bool,
    slo: Slo | None,
    lang: str | None,
) -> int:
    """Write a first whystall.toml, and what Prometheus, Grafana, systemd or Kubernetes need.

    Everything goes into DIR (the working directory, if none is given), to look through and to merge into your own: nothing
    is installed or started. A file that is there and differs is never written over without --force.
    """
    tongue = language(lang)
    for target in targets:
        Address.parse(target)  # what is written is there to be used: a wrong address would show only later
    made = setup_files(SetupAsked(targets or (DEFAULT_TARGET,), slo, parts or PARTS, tongue))
    same = {place for place, text in made.items() if _holds(folder / place, text)}
    if not force and not dry_run:
        _refuse_to_overwrite([folder / place for place in made if place not in same and (folder / place).exists()])
    wanted = {} if dry_run else {place: text for place, text in made.items() if place not in same}
    for (
        place,
        text,
    ) in wanted.items():  # all of them before a line is said: who reads the lines may have left, as `head`
        write_file(folder / place, text)
    for place in made:
        told = _SAME if place in same else _WOULD if dry_run else _WROTE
        click.echo(told.format(place=folder / place).in_(tongue))
    if "whystall.toml" in made and not dry_run:
        click.echo(_NEXT.format(folder=folder).in_(tongue), err=True)
    return 0


def _holds(path: Path, text: str) -> bool:
    """Whether a file has this text already. A file that cannot be read has another one."""
    try:
        return path.is_file() and path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _refuse_to_overwrite(there: list[Path]) -> None:
    if there:
        shown = ", ".join(str(path) for path in there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
        raise UsageError(f"{shown}: there already, and different", "Choose another DIR, --only a part, or --force.")
