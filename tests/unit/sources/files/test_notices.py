"""Every warning has its words and its place in the docs."""

from pathlib import Path

from whystall.sources.files.notices import notice_ids


def test_warnings_are_said_in_two_languages():
    assert len(set(notice_ids())) == len(notice_ids())


def test_every_warning_is_documented():
    text = (Path(__file__).parents[4] / "docs/bad-input.md").read_text()
    assert [kind for kind in notice_ids() if f"`{kind}`" not in text] == []
