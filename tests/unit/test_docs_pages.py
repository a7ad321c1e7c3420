"""What is public has a page."""

from pathlib import Path

from whystall.causes.catalogue import catalogue
from whystall.remedies.knobs import knobs
from whystall.reports.schema import NOUNS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_cause_has_its_page():
    pages = {path.stem for path in (DOCS / "causes").glob("*.md")} - {"index"}
    assert pages == set(catalogue()), "run python docs/pages.py"


def test_every_knob_has_its_page():
    pages = {path.stem for path in (DOCS / "knobs").glob("*.md")} - {"index"}
    assert pages == set(knobs()), "run python docs/pages.py"


def test_every_schema_is_on_the_page_of_reports():
    text = (DOCS / "reports.md").read_text("utf-8")
    assert [name for name in NOUNS if f"schemas/{name}.json" not in text] == []
