"""An application's engine arguments are changed and put back; the other applications stay."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fake_ray_serve import FakeRayServe, application
from servers import http_server
from whystall.errors import ChangeFailed, UsageError
from whystall.trials.actuators.ray_serve import RayServe
from whystall.trials.actuators.spec import RayServeSpec


@asynccontextmanager
async def actuator(fake: FakeRayServe, name: str = "chat") -> AsyncIterator[RayServe]:
    async with http_server(fake.handler) as url:
        yield RayServe(RayServeSpec(name, api=url), start_s=30.0, every_s=0.0)


async def test_changes_one_application_and_goes_back() -> None:
    chat, other = application("chat", max_num_seqs=8, enable_prefix_caching=False), application("other", max_num_seqs=4)
    fake = FakeRayServe(copy.deepcopy(chat), copy.deepcopy(other))
    async with actuator(fake) as subject:
        before = await subject.snapshot()
        assert before.arguments == ("--no-enable-prefix-caching", "--max-num-seqs", "8")
        plan = await subject.plan(before, {"--max-num-seqs": "64", "--no-enable-prefix-caching": ""})
        assert fake.puts == 0
        assert '"max_num_seqs": 64' in plan.text
        assert "cannot hold the others back" in plan.text
        assert "cannot hold" not in plan.undo
        await subject.apply(plan)
        await subject.apply(plan)
        assert fake.puts == 1
        assert fake.configs["chat"]["args"]["llm_configs"][0]["engine_kwargs"] == {"max_num_seqs": 64}
        assert fake.configs["other"] == other
        assert (await subject.healthy()).ok
        await subject.roll_back(before)
        assert fake.configs == {"chat": chat, "other": other}
        assert (await subject.healthy()).ok
        assert (await subject.snapshot()).digest == before.digest


async def test_one_that_does_not_come_up_says_why() -> None:
    fake = FakeRayServe(application("chat", max_num_seqs=8), bad="0.99")
    async with actuator(fake) as subject:
        before = await subject.snapshot()
        await subject.apply(await subject.plan(before, {"--gpu-memory-utilization": "0.99"}))
        state = await subject.healthy()
        assert (state.ok, state.oom) == (False, True)
        assert "DEPLOY_FAILED" in state.reason
        await subject.roll_back(before)
        assert (await subject.healthy()).ok


async def test_what_somebody_else_deployed_is_left_alone() -> None:
    fake = FakeRayServe(application("chat", max_num_seqs=8))
    async with actuator(fake) as subject:
        plan = await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"})
        fake.configs["chat"]["route_prefix"] = "/new"
        with pytest.raises(ChangeFailed, match="somebody else"):
            await subject.apply(plan)
    assert fake.puts == 0


async def test_an_application_that_is_not_there_is_told() -> None:
    async with actuator(FakeRayServe(application("chat")), "none") as subject:
        with pytest.raises(UsageError, match="no application 'none'"):
            await subject.snapshot()


async def test_an_application_from_python_is_refused() -> None:
    fake = FakeRayServe(application("chat"))
    fake._state = lambda: {"applications": {"chat": {"status": "RUNNING", "deployed_app_config": None}}}  # type: ignore[method-assign]
    async with actuator(fake) as subject:
        with pytest.raises(UsageError, match="deployed from Python"):
            await subject.snapshot()
