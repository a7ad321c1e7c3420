"""Year and time zone of log lines."""

import datetime as dt

import pytest

from log_lines import ANCHOR, START, one
from whystall.sources.log import read_log
from whystall.sources.log_clock import LogAnchor, offset


def api(moment, pid=1, text="non-default args: {}"):
    return f"(APIServer pid={pid}) INFO {moment:%m-%d %H:%M:%S} [a.py:1] {text}"


@pytest.mark.parametrize("hours", [-11.5, -8, -3.75, 0, 1, 5.5, 5.75, 8, 13])
def test_the_time_zone_comes_from_the_servers_start(hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    lines = [api(dt.datetime.fromtimestamp(START - 600 + k, zone)) for k in (0, 300, 620)]
    found = read_log(lines, LogAnchor(START, START + 60, process_start=START - 608))
    assert [entry.t for entry in found] == [START - 600, START - 300, START + 20]


def test_of_several_starts_in_a_log_the_recorded_one_counts():
    zone = dt.timezone(dt.timedelta(hours=2))
    old, new = START - 7_000, START - 600
    lines = [api(dt.datetime.fromtimestamp(old, zone), 1), api(dt.datetime.fromtimestamp(new, zone), 2)]
    assert read_log(lines, LogAnchor(START, START + 60, new - 5))[1].t == new


def test_without_a_start_utc_is_taken_where_it_fits():
    lines = [api(dt.datetime.fromtimestamp(START + k, dt.UTC)) for k in (-1000, 30)]
    assert [entry.t for entry in read_log(lines, ANCHOR)] == [START - 1000, START + 30]


def test_without_a_start_the_end_is_fitted_where_utc_does_not_fit():
    zone = dt.timezone(dt.timedelta(hours=-7))
    lines = [api(dt.datetime.fromtimestamp(START + k, zone)) for k in (-1000, 55)]
    assert [entry.t for entry in read_log(lines, ANCHOR)] == [START - 1000, START + 55]


def test_a_log_over_new_year():
    new_year = dt.datetime(2027, 1, 1, tzinfo=dt.UTC).timestamp()
    lines = [api(dt.datetime.fromtimestamp(new_year + k, dt.UTC)) for k in (-30, 30)]
    for start in (new_year - 60, new_year + 20):
        found = read_log(lines, LogAnchor(start, start + 120))
        assert [entry.t for entry in found] == [new_year - 30, new_year + 30]


def test_february_29():
    leap = dt.datetime(2028, 2, 29, 12, tzinfo=dt.UTC).timestamp()
    assert one(api(dt.datetime.fromtimestamp(leap, dt.UTC)), LogAnchor(leap, leap + 9)).t == leap


def test_a_log_without_its_beginning_says_nothing_of_the_start():
    lines = [api(dt.datetime.fromtimestamp(START + k, dt.UTC), text="x") for k in (-3600, 30)]
    found = read_log(lines, LogAnchor(START, START + 60, process_start=START - 20_000))
    assert [entry.t for entry in found] == [START - 3600, START + 30]


def test_of_two_starts_that_fit_the_last_counts():
    zone = dt.timezone(dt.timedelta(hours=2))
    old, new = START - 7_803, START - 590  # two hours earlier to the second, by another zone
    lines = [api(dt.datetime.fromtimestamp(old, zone), 1), api(dt.datetime.fromtimestamp(new, zone), 2)]
    assert read_log(lines, LogAnchor(START, START + 60, START - 600))[1].t == new


def test_when_the_last_line_was_written_comes_first():
    """A log in China's time whose lines reach back over the window would pass for one in UTC."""
    written = 1_790_000_000.0
    times = [written + 8 * 3600 - seconds for seconds in (90_000.0, 5_000.0, 3.0)]
    found = offset([], times, LogAnchor(written - 60, written, written=written))
    assert found is not None
    assert (found.seconds, found.fitted) == (8 * 3600.0, False)
