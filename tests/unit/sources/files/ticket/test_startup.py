"""Starts that a ticket times."""

from whystall.sources.files.ticket.leaf import leaves_of
from whystall.sources.files.ticket.startup import slow_starts


def starts(symptoms):
    return list(slow_starts(symptoms, list(leaves_of(symptoms))))


def test_two_ways_to_load_the_same_weights():
    assert starts({"lazy_s": 400, "prefetch_s": 100}) == [("start", 4.0)]
    assert starts({"rows": [{"lazy_s": 400, "prefetch_s": 100}, {"lazy_s": 10, "prefetch_s": 9}]}) == [("start", 4.0)]


def test_the_phases_of_one_start():
    assert starts({"phases_s": {"weights": 100, "compile": 50, "other": 30}}) == [("start", 3.0)]
    assert starts({"phases_s": {"weights": 20, "profile": 100}}) == [("", 2.0)]


def test_a_start_alone_is_long_from_two_minutes_on():
    assert starts({"load_min": 5}) == [("start", 5.0)]
    assert starts({"load_s": 50}) == []
    assert starts({"uptime_h": 5}) == []
