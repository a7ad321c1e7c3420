import random

from whystall.service.figures import Figures
from whystall.service.forecast import forecast


def rising(start: float, per_s: float, seconds: float = 180, noise: float = 0.0) -> list[Figures]:
    chance = random.Random(1)
    return [
        Figures(float(t), kv_ratio=start + per_s * t + chance.gauss(0, noise), running=10)
        for t in range(0, int(seconds), 5)
    ]


def test_a_pool_that_fills_is_foretold():
    found = forecast(rising(0.4, 0.002, noise=0.01))
    assert found.limit == "kv_blocks"
    assert abs(found.in_s - (1 - 0.75) / 0.002) < 25
    assert "full in 2 min" in found.text.en


def test_a_level_that_waves_is_not():
    waves = [Figures(float(t), kv_ratio=0.7 + 0.1 * ((t // 30) % 2)) for t in range(0, 180, 5)]
    assert forecast(waves) is None


def test_what_falls_is_full_or_is_far_away_is_not():
    assert forecast(rising(0.9, -0.002)) is None
    assert forecast(rising(0.99, 0.0)) is None
    assert forecast(rising(0.1, 0.0005)) is None
    assert forecast([]) is None


def test_too_short_a_time_is_no_trend():
    assert forecast(rising(0.6, 0.003, seconds=60)) is None


def test_seats_are_foretold_where_their_number_is_known():
    figures = [Figures(float(t), running=100 + t) for t in range(0, 180, 5)]
    assert forecast(figures) is None
    assert forecast(figures, seats=320).limit == "seats"
