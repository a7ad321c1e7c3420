"""``whystall cases``: incidents that are kept."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from whystall.cases.book import Book
from whystall.cases.exchange import exported, read_export
from whystall.cases.similar import ALIKE, similar_cases
from whystall.cases.success import success
from whystall.errors import StoreDamaged, UsageError
from whystall.model.case import Case, CaseList, CaseOutcome, CaseStep, SimilarCases
from whystall.model.text import Text
from whystall.reports.cases import CASE_FORMATS, case_json, render_cases, render_similar
from whystall.reports.postmortem_text import POSTMORTEM_FORMATS, render_postmortem

from .explaining import Explainer, explain_options
from .keeping import store_path
from .language import language
from .options import CONFIG, LANG, STORE, output_options
from .output import Output
from .settings import load_settings

OUTCOMES: tuple[str, ...] = get_args(CaseOutcome)
_ADDED = Text(
    "{added} cases added to {store}, {left} were there already", "已向 {store} 添加 {added} 个案例，{left} 个原已存在"
)
_NOTED = Text("noted in case {id}", "已记入案例 {id}")


@click.group()
def cases() -> None:
    """Find, keep and learn from past incidents."""


def _stored(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb ``path``, the store that ``--store`` and the configuration name."""

    @functools.wraps(verb)
    def with_path(*args: Any, store: Path | None, config: Path | None, **given: Any) -> int:
        return verb(*args, path=store_path(store, load_settings(config)), **given)

    with_path.__click_params__ = list(getattr(verb, "__click_params__", []))  # type: ignore[attr-defined]
    return CONFIG(STORE(with_path))


@cases.command("list", short_help="Show the kept cases, and which remedies helped.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only cases with this outcome.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many, the newest.")
@_stored
@output_options(CASE_FORMATS)
def list_(outcome: CaseOutcome | None, limit: int, path: Path, output: Output) -> int:
    """Show the kept cases, the newest first, and which remedies helped."""
    with Book.read(path) as book:
        found = CaseList(str(path), tuple(book.summaries(outcome, limit)), success(book.summaries()))
    output.write(render_cases(found, output.format, output.lang, output.width, output.colour))
    return 0


@cases.command()
@click.argument("id", type=int)
@_stored
@explain_options
@output_options(CASE_FORMATS)
def show(id: int, path: Path, explainer: Explainer, output: Output) -> int:
    """Show one case."""
    case = explainer.case(_case(path, id), output.lang)
    output.write(case_json(case, output.lang) if output.format == "json" else _report(case, output, path))
    return 0


@cases.command()
@click.argument("id", type=int)
@click.option("--at-least", type=click.FloatRange(0, 1), default=ALIKE, show_default=True, help="How alike, 0 to 1.")
@_stored
@output_options(CASE_FORMATS)
def similar(id: int, at_least: float, path: Path, output: Output) -> int:
    """Show the kept cases that look like one, and why they do."""
    with Book.read(path) as book:
        signature = book.case(id).signature
        others = (one for one in book.summaries() if one.id != id)
        found = SimilarCases(id, similar_cases(signature, others, at_least))
    output.write(render_similar(found, output.format, output.lang, output.width, output.colour))
    return 0


@cases.command(short_help="Add a note to a case, and its outcome.")
@click.argument("id", type=int)
@click.argument("text")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="What came of it; closes the case, or opens it again.")
@_stored
@LANG
def note(id: int, text: str, outcome: CaseOutcome | None, path: Path, lang: str | None) -> int:
    """Add a note to a case, and say what came of it.

    A case whose remedy was made by hand learns so: --outcome kept where it helped, rolled_back where it did not. Later
    diagnoses count that.
    """
    now = time.time()
    with Book.read(path) as book:
        case = book.note(id, text, now)
        if outcome is not None:
            book.update(_ended(case, outcome, now))
    click.echo(_NOTED.format(id=id).in_(language(lang)))
    return 0


@cases.command(short_help="Write cases as JSON for another store.")
@click.argument("ids", type=int, nargs=-1)
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE.")
@_stored
def export(ids: tuple[int, ...], file: Path | None, path: Path) -> int:
    """Write cases as JSON for another store: those named, else all."""
    output = Output("json", file=file)
    output.check()
    with Book.read(path) as book:
        output.write(exported([book.case(id) for id in ids] if ids else book.cases()))
    return 0


@cases.command("import", short_help="Add the cases of an exported file.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--examples", is_flag=True, help="The cases that ship with whystall.")
@_stored
@LANG
def import_(file: Path | None, examples: bool, path: Path, lang: str | None) -> int:
    """Add the cases of a file that was exported; those that are here already are left as they are."""
    if (file is None) != examples:
        raise UsageError("import takes a FILE or --examples", "whystall cases import cases.json")
    found = _examples() if file is None else read_export(file)
    with Book.open(path) as book:
        added, left = book.take_in(found)
    click.echo(_ADDED.format(added=len(added), left=left, store=path).in_(language(lang)))
    return 0


@cases.command(short_help="Write the post-mortem of a case.")
@click.argument("id", type=int)
@_stored
@output_options(POSTMORTEM_FORMATS)
def postmortem(id: int, path: Path, output: Output) -> int:
    """Write the post-mortem of a case: what was seen, why, what was done, the proof, and what is left to do."""
    output.check()
    output.write(_report(_case(path, id), output, path))
    return 0


def _case(path: Path, id: int) -> Case:
    with Book.read(path) as book:
        return book.case(id)


def _report(case: Case, output: Output, path: Path) -> str:
    try:
        return render_postmortem(case, output.format, output.lang, output.width, output.colour)
    except msgspec.ValidationError as error:
        raise StoreDamaged(f"case {case.id} in {path} cannot be read: {error}", "Restore a copy of it.") from error


def _ended(case: Case, outcome: CaseOutcome, now: float) -> Case:
    """The case with its outcome, and a step that says when; one that was ended and is open again was reopened."""
    if outcome == "open":
        steps = (*case.steps, CaseStep("reopened", now)) if case.outcome != "open" else case.steps
        return msgspec.structs.replace(case, outcome=outcome, closed=None, steps=steps)
    id = outcome if outcome in ("kept", "rolled_back") else "closed"
    return msgspec.structs.replace(case, outcome=outcome, closed=now, steps=(*case.steps, CaseStep(id, now)))


def _examples() -> tuple[Case, ...]:
    from whystall.cases.examples import example_cases

    return example_cases()
