"""The incident's load, rebuilt so that it can be sent again: clients that wait, or arrivals at their moments."""

from __future__ import annotations

import msgspec
import pytest

from loop_scenes import few_seats, roomy_server
from whystall.errors import TooLittleData
from whystall.loop.own_load import plan_of
from whystall.trials.emulated_target import EmulatedTarget


async def test_clients_that_wait_are_as_many() -> None:
    plan = plan_of(await few_seats(8, 24).look(40))
    assert plan.clients == pytest.approx(24, abs=1)
    assert 200 <= plan.mix[0].prompt[0] <= 400
    assert plan.check() is plan


async def test_open_arrivals_come_at_their_rate() -> None:
    serving = roomy_server()
    traffic = msgspec.structs.replace(serving.traffic, clients=0, rate=6.0)
    serving = msgspec.structs.replace(serving, traffic=traffic)
    plan = plan_of(await EmulatedTarget(serving, serving).look(60))
    assert not plan.clients
    assert plan.offered == pytest.approx(6.0, rel=0.15)
    assert plan.recorded[0].t == 0.0
    assert list(plan.recorded) == sorted(plan.recorded, key=lambda arrival: arrival.t)


async def test_nothing_to_send_is_said() -> None:
    serving = roomy_server()
    idle = msgspec.structs.replace(serving, traffic=msgspec.structs.replace(serving.traffic, clients=0))
    recording = await EmulatedTarget(idle, idle).look(20)
    with pytest.raises(TooLittleData):
        plan_of(recording)
