from pathlib import Path

import pytest

from whystall.cli.output import Output, chosen_format, unknown_ending
from whystall.errors import UsageError


@pytest.mark.parametrize(
    ("asked", "json", "file", "answer"),
    [
        (None, False, None, "text"),
        (None, True, None, "json"),
        ("json", True, None, "json"),
        ("github", False, None, "github"),
        (None, False, "a.html", "html"),
        (None, False, "a.MD", "markdown"),
        (None, False, "a.out", "text"),
        ("text", False, "a.html", "text"),
        (None, True, "a.html", "json"),
    ],
)
def test_format(asked: str | None, json: bool, file: str | None, answer: str) -> None:
    assert chosen_format(asked, json, Path(file) if file else None) == answer


@pytest.mark.parametrize(
    ("asked", "json", "file", "noted"),
    [
        (None, False, "a.pdf", True),
        (None, False, "a.csv", True),
        ("text", False, "a.pdf", False),
        (None, True, "a.pdf", False),
        (None, False, "a.html", False),
        (None, False, "answer", False),
        (None, False, "a.log", False),
        (None, False, None, False),
    ],
)
def test_an_ending_that_is_not_written_is_noted(asked: str | None, json: bool, file: str | None, noted: bool) -> None:
    assert (unknown_ending(asked, json, Path(file) if file else None) is not None) == noted


def test_contradiction() -> None:
    with pytest.raises(UsageError, match="contradict"):
        chosen_format("text", True, None)


def test_writes_to_a_file_or_says_why_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Output(file=tmp_path / "answer").write("好")
    assert capsys.readouterr() == ("", f"wrote {tmp_path / 'answer'}\n")
    assert (tmp_path / "answer").read_text(encoding="utf-8") == "好\n"
    with pytest.raises(UsageError, match="cannot be written"):
        Output(file=tmp_path / "no" / "answer").write("x")


def test_writes_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    Output().write("answer\n")
    assert capsys.readouterr().out == "answer\n"
    assert not Output().colour


def test_the_width_asked_for_is_taken():
    assert Output(columns=200).width == 200
    assert Output().width <= 120


def test_a_file_that_cannot_be_written_is_refused_before_the_work_and_says_why(tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("old")
    for fine in (kept, tmp_path / "new.html", Path("/dev/null")):
        Output(file=fine).check()
    assert kept.read_text() == "old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["kept.html"]
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        Output(file=tmp_path / "none" / "a.html").check()
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        Output(file=kept / "a.html").check()


def test_of_an_answer_in_a_file_the_first_paragraph_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Output(file=tmp_path / "a.html", columns=50).tell_first(lambda width: f"WIN at {width}\nso much\n\nthe rest\n")
    Output().tell_first(lambda width: "it is on the screen anyway")
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "WIN at 50\nso much\n")
