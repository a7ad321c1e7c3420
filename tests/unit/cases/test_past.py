from __future__ import annotations

from kept_cases import closed_case, kv_diagnosis
from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.cases.past import NOTHING, past_of
from whystall.model.diagnosis import Tried


def test_the_past_knows_what_is_alike_and_what_helped():
    with Book.empty() as book:
        book.add(closed_case())
        past = past_of(book)
    assert [one.id for one in past.like(kv_diagnosis())] == [1]
    assert past.success == {"kv_capacity.fp8": Tried(1, 1, (1,))}


def test_a_window_is_not_like_itself():
    with Book.empty() as book:
        book.add(case_of(kv_diagnosis(), 0.0))
        assert past_of(book).like(kv_diagnosis()) == ()


def test_without_a_book_there_is_nothing():
    assert NOTHING.like(kv_diagnosis()) == ()
