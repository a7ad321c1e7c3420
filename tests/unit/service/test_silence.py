from datetime import datetime

import pytest

from whystall.errors import UsageError
from whystall.service.silence import Silence, silenced


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_window_from_to():
    window = Silence(("prod*",), reason="upgrade", start="2026-12-01T02:00:00Z", end="2026-12-01T04:00:00Z")
    assert window.covers("prod-1", "kv_capacity", at("2026-12-01T03:00:00Z"))
    assert not window.covers("lab", "kv_capacity", at("2026-12-01T03:00:00Z"))
    assert not window.covers("prod-1", "", at("2026-12-01T04:00:00Z"))
    assert not window.covers("prod-1", "", at("2026-12-01T01:59:00Z"))
    assert silenced([window], "prod", "", at("2026-12-01T03:00:00Z")) == "upgrade"
    assert silenced([], "prod", "", 0.0) == ""


def test_every_week_over_midnight_in_a_zone():
    night = Silence(days=("fri",), begin="22:00", until="04:00", zone="Asia/Shanghai")
    assert night.covers("a", "", at("2026-12-04T22:30:00+08:00"))  # a Friday
    assert night.covers("a", "", at("2026-12-05T03:30:00+08:00"))
    assert not night.covers("a", "", at("2026-12-04T03:30:00+08:00"))
    assert not night.covers("a", "", at("2026-12-05T22:30:00+08:00"))


def test_every_day_at_noon():
    noon = Silence(begin="12:00", until="13:00")
    assert noon.covers("a", "", at("2026-12-04T12:59:00Z"))
    assert not noon.covers("a", "", at("2026-12-04T13:00:00Z"))


def test_one_cause_alone():
    assert Silence(causes=("burst",)).covers("a", "burst", 0.0)
    assert not Silence(causes=("burst",)).covers("a", "kv_capacity", 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "soon"},
        {"begin": "25:00", "until": "26:00"},
        {"begin": "22:00"},
        {"days": ("someday",)},
        {"zone": "Mars/Olympus"},
        {"zone": "../../etc/passwd"},
    ],
)
def test_what_cannot_be_read_is_named(wrong):
    with pytest.raises(UsageError):
        Silence(**wrong).check()
