"""The pages say what the program does: a verb, a key or an exit code that they lack, or that is no more, fails."""

import re
from pathlib import Path

import click
import pytest

from whystall import cli, errors
from whystall.cli.settings import Settings, TargetEntry
from whystall.cli.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_lists_the_verbs_that_exist() -> None:
    rows = re.findall(r"^\| `whystall (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == cli.whystall.list_commands(click.Context(cli.whystall))


def test_no_page_promises_a_verb_that_does_not_exist() -> None:
    exist = cli.whystall.list_commands(click.Context(cli.whystall))
    promised = [
        (page.name, verb)
        for page in PAGES
        for verb in re.findall(r"\bwhystall ([a-z]+)\b", "\n".join(code(page)))
        if verb in VERBS and verb not in exist
    ]
    assert promised == []


def code(page: Path) -> list[str]:
    """What stands in code blocks and between backticks."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL) + re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("kind", [Settings, TargetEntry])
def test_every_key_of_the_configuration_is_explained(kind: type[Settings | TargetEntry]) -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [key for key in kind.__struct_fields__ if not re.search(rf"\b{key}\b", text)] == []


def test_every_exit_code_is_explained() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WhystallError)
    ]
    codes = {0, 1} | {kind.exit_code for kind in kinds}
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes


def test_every_error_is_in_the_tree_with_its_exit_code() -> None:
    tree = dict(re.findall(r"^ {6,}(\w+) +exit (\d+)", errors.__doc__ or "", re.MULTILINE)) | {"WhystallError": "4"}
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WhystallError)
    ]
    assert tree == {kind.__name__: str(kind.exit_code) for kind in kinds}
