from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kept_cases import closed_case, open_case
from whystall.cases import exchange
from whystall.cases.book import Book
from whystall.cases.exchange import exported, parsed, read_export
from whystall.errors import NotCases, TooLarge

UID = "0123456789abcdef" * 2


def test_cases_go_from_book_to_book(tmp_path):
    file = tmp_path / "cases.json"
    with Book.empty() as one, Book.empty() as other:
        one.add(open_case())
        one.add(closed_case())
        file.write_text(exported(one.cases()), encoding="utf-8")
        added, left = other.take_in(read_export(file))
        assert other.cases() == one.cases()
    assert (len(added), left) == (2, 0)


def broken(**changes: object) -> bytes:
    body = json.loads(exported([closed_case(uid=UID)]))
    body["cases"][0] |= changes
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "holds no cases"),
        (b"[" * 100_000, "holds no cases"),
        (b'{"schema": "whystall.diagnosis/1"}', "holds no cases"),
        (broken(uid="../../etc/passwd"), "uid"),
        (broken(verdict="maybe"), "holds no cases"),
        (broken(headline={"en": 1}), "holds no cases"),
        (broken(diagnosis={"target": "x"}), "cannot be read"),
        (broken(after={}), None),
        (broken(trial={"verdict": "WIN"}), "cannot be read"),
        (broken(prediction=[]), "holds no cases"),
    ],
)
def test_what_holds_no_cases_is_refused_by_name(body, why):
    if why is None:
        assert parsed(body, "x")
        return
    with pytest.raises(NotCases, match=why):
        parsed(body, "x")


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(body):
    with pytest.raises(NotCases):
        parsed(body, "x")


def test_a_file_that_is_not_there_or_too_large(tmp_path, monkeypatch):
    with pytest.raises(NotCases, match="No such file"):
        read_export(tmp_path / "nothing.json")
    monkeypatch.setattr(exchange, "MAX_BYTES", 10)
    (tmp_path / "large.json").write_text(" " * 11)
    with pytest.raises(TooLarge):
        read_export(tmp_path / "large.json")
