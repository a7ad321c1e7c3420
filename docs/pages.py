"""Make ``docs/causes/`` and ``docs/knobs/``: a page for each cause of the catalogue and each knob, and their lists.

``python docs/pages.py`` after a cause or a knob has changed.
"""

from __future__ import annotations

from pathlib import Path

from whystall.causes.catalogue import catalogue
from whystall.remedies.explanation import explain
from whystall.remedies.knobs import knobs
from whystall.reports.explanation import render_explanation
from whystall.reports.markdown import escaped

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """The text of each page by its file's place under ``docs``."""
    made = {f"causes/{id}.md": render_explanation(explain(id), "markdown") for id in catalogue()}
    made |= {f"knobs/{id}.md": render_explanation(explain(id), "markdown") for id in knobs()}
    return made | {"causes/index.md": causes_index(), "knobs/index.md": knobs_index()}


def causes_index() -> str:
    rows = [
        f"| [{entry.id}]({entry.id}.md) | {escaped(entry.title.en)} | {entry.role} |" for entry in catalogue().values()
    ]
    head = ["# Causes", "", "What `whystall explain ID` says of each.", "", "| id | title | role |", "|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def knobs_index() -> str:
    rows = [
        f"| [{knob.spellings[0].flag}]({knob.id}.md) | {knob.group} | {escaped(knob.what.en)} |"
        for knob in sorted(knobs().values(), key=lambda knob: (knob.group == "removed", knob.id))
    ]
    head = ["# Knobs", "", "Flags of `vllm serve`, as `whystall explain FLAG` says of each.", ""]
    return "\n".join([*head, "| flag | group | what |", "|---|---|---|", *rows]) + "\n"


def main() -> None:
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
