"""Make ``docs/causes/``: a page for each cause of the catalogue, and their list.

``python docs/pages.py`` after a cause has changed.
"""

from __future__ import annotations

from pathlib import Path

from whystall.causes.catalogue import catalogue
from whystall.causes.explanation import explain
from whystall.reports.explanation import render_explanation
from whystall.reports.markdown import escaped

FOLDER = Path(__file__).parent / "causes"


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    made = {f"{id}.md": render_explanation(explain(id), "markdown") for id in catalogue()}
    return made | {"index.md": index()}


def index() -> str:
    rows = [
        f"| [{entry.id}]({entry.id}.md) | {escaped(entry.title.en)} | {entry.role} |" for entry in catalogue().values()
    ]
    head = ["# Causes", "", "What `whystall explain ID` says of each.", "", "| id | title | role |", "|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
