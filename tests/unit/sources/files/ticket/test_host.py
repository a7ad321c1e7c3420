"""What a ticket states of the host."""

import pytest

from whystall.sources.files.ticket.host import host_losses
from whystall.sources.files.ticket.leaf import leaves_of


def losses(symptoms):
    return [(name, pytest.approx(ratio)) for name, ratio in host_losses(symptoms, list(leaves_of(symptoms)))]


@pytest.mark.parametrize(
    "symptoms",
    [
        {"rss_gib": {"start": 2, "end": 8, "mean": 5}},
        {"rss_gib": [2, 4, 8]},
        {"rss": "2 -> 8 GiB"},
        {"rss_start_gib": 2, "rss_end_gib": 8},
        {"rss_gib": {"h0": 2, "h12": 5, "h24": 8}},
        {"rss_by_hour": [{"h": 0, "gib": 2}, {"h": 9, "gib": 8}]},
    ],
)
def test_memory_that_grew(symptoms):
    assert losses(symptoms) == [("leak", 4.0)]


def test_memory_that_came_back_is_no_leak():
    assert losses({"rss_gib": [2, 8, 2]}) == []
    assert losses({"rss_gib": {"mean": 8}}) == []


def test_a_quota_that_stops_the_server():
    assert losses({"cfs_throttled_pct": 75}) == [("cpu", 4.0)]
    assert losses({"pod": {"cpu_throttled_ratio": 0.5}}) == [("cpu", 2.0)]
    assert losses({"cfs_throttled_ratio": 0.0, "throttle_pct": 97, "cfs_throttled_s": 30}) == []
