import time

import pytest

from whystall.sources.live.clock import Clock


def headers(clock: float, age: float | None = None, speed: str | None = None) -> dict[str, str]:
    found = {"x-whystall-clock": f"{clock}"}
    if age is not None:
        found["x-whystall-age"] = f"{age}"
    if speed is not None:
        found["x-whystall-speed"] = speed
    return found


def test_our_own_clock_where_the_server_has_none() -> None:
    clock = Clock()
    assert abs(clock.now() - time.time()) < 1
    assert clock.observe({}, time.monotonic() - 5) == pytest.approx(time.time() - 5, abs=1)
    assert not clock.foreign


def test_a_step_of_the_hosts_clock_does_not_matter(monkeypatch) -> None:
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert clock.now() >= before


def test_the_servers_clock_is_followed_at_the_speed_it_tells() -> None:
    clock = Clock()
    assert clock.observe(headers(1000, age=0.5, speed="10"), time.monotonic() - 1) == 1000
    assert clock.foreign
    assert clock.now() == pytest.approx(1000.5 + 10, abs=1)


def test_the_speed_is_estimated_where_it_is_not_told() -> None:
    clock = Clock()
    clock.observe(headers(1000), 50.0)
    assert clock.speed == 1
    clock.observe(headers(1020), 52.0)
    assert clock.speed == pytest.approx(10)


async def test_a_stepwise_clock_moves_by_readings_only() -> None:
    clock = Clock()
    clock.observe(headers(1000, speed="step"), time.monotonic() - 100)
    assert clock.now() == 1000
    await clock.sleep_until(99999)  # would hang
    await clock.sleep(99999)


@pytest.mark.parametrize("bad", ["", "nan", "inf", "soon"])
def test_a_clock_that_is_no_number_is_none(bad: str) -> None:
    clock = Clock()
    clock.observe({"x-whystall-clock": bad}, time.monotonic())
    assert not clock.foreign


def test_a_speed_that_is_no_number_is_not_taken() -> None:
    clock = Clock()
    for speed in ("-3", "0", "nan", "fast"):
        clock.observe(headers(1000, speed=speed), 10.0)
        assert clock.speed == 1


@pytest.mark.parametrize("at", ["1e300", "-5", "0"])
def test_a_time_that_cannot_be_is_none(at: str) -> None:
    clock = Clock()
    assert clock.observe({"x-whystall-clock": at}, time.monotonic()) == pytest.approx(time.time(), abs=5)


def test_speeds_are_bounded_so_that_nobody_waits_for_ever() -> None:
    clock = Clock()
    clock.observe(headers(1000, speed="1e-9"), 10.0)
    assert clock.speed == 0.01
    clock.observe(headers(1000, speed="1e9"), 10.0)
    assert clock.speed == 1e4
