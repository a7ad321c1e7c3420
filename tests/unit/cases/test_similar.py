from __future__ import annotations

from kept_cases import START, closed_case, kv_diagnosis, open_case
from whystall.cases.book import Book
from whystall.cases.signature import signature_of
from whystall.cases.similar import similar_cases
from whystall.model.case import Signature


def test_the_most_alike_first_and_of_equals_the_newest():
    with Book.empty() as book:
        book.add(open_case(strength=0.4))
        book.add(closed_case())
        book.add(closed_case(opened=START + 9000, outcome="rolled_back"))
        found = similar_cases(signature_of(kv_diagnosis()), book.summaries())
    assert [one.id for one in found] == [3, 2, 1]
    assert found[0].score == 1.0 > found[2].score
    assert (found[0].outcome, found[0].remedy) == ("rolled_back", "kv_capacity.fp8")


def test_what_is_not_alike_is_not_shown():
    with Book.empty() as book:
        book.add(closed_case(signature=Signature({"seat_cap": 1.0}, {"kv.saturated": 1.5})))
        assert similar_cases(signature_of(kv_diagnosis()), book.summaries()) == ()


def test_a_healthy_server_is_like_nothing():
    with Book.empty() as book:
        book.add(closed_case())
        assert similar_cases(signature_of(kv_diagnosis(verdict="healthy")), book.summaries()) == ()


def test_not_more_than_asked_for():
    with Book.empty() as book:
        for _ in range(9):
            book.add(closed_case())
        assert len(similar_cases(signature_of(kv_diagnosis()), book.summaries(), most=3)) == 3


def test_an_example_says_that_it_is_one():
    with Book.empty() as book:
        book.add(closed_case(origin="example"))
        assert similar_cases(signature_of(kv_diagnosis()), book.summaries())[0].example
