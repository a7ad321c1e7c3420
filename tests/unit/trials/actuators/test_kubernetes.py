"""A Deployment is patched, watched and put back, against an API server that enforces what the real one does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_deployments import NAME, NAMESPACE, TOKEN, FakeKubernetes, deployment
from servers import http_server
from whystall.errors import ChangeFailed, Refused, UsageError
from whystall.trials.actuators.kubernetes import Kubernetes
from whystall.trials.actuators.spec import KubernetesSpec

ARGS = ["--model", "m", "--max-num-seqs", "8", "--api-key", "swordfish"]


@asynccontextmanager
async def actuator(tmp_path: Path, fake: FakeKubernetes, **spec: str) -> AsyncIterator[Kubernetes]:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    async with http_server(fake.handler) as url:
        chosen = {"deployment": NAME, "namespace": NAMESPACE, "container": "vllm", "api": url, "token_file": str(token)}
        yield Kubernetes(KubernetesSpec(**(chosen | spec)), start_s=30.0, every_s=0.0)


async def test_patches_watches_and_goes_back(tmp_path: Path) -> None:
    fake = FakeKubernetes(deployment(args=list(ARGS)))
    async with actuator(tmp_path, fake) as subject:
        before = await subject.snapshot()
        plan = await subject.plan(before, {"--max-num-seqs": "64"})
        assert fake.patches == []
        await subject.apply(plan)
        assert fake.container["args"][:4] == ["--model", "m", "--max-num-seqs", "64"]
        assert fake.container["args"][4:] == ARGS[4:]
        assert (await subject.healthy()).ok
        await subject.apply(plan)  # an interrupted step is taken again
        assert len(fake.patches) == 1
        await subject.roll_back(before)
        await subject.roll_back(before)
        assert fake.container["args"] == ARGS
        assert (await subject.healthy()).ok
        assert (await subject.snapshot()).digest == before.digest
        assert len(fake.patches) == 2


async def test_the_dry_run_is_the_request_without_its_secrets(tmp_path: Path) -> None:
    async with actuator(tmp_path, FakeKubernetes(deployment(args=list(ARGS)))) as subject:
        plan = await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"})
    assert plan.text.startswith("PATCH http://127.0.0.1:")
    assert '"64"' in plan.text
    assert '"8"' in plan.undo
    assert "swordfish" not in plan.text + plan.undo


async def test_a_rollout_that_fails_says_why(tmp_path: Path) -> None:
    fake = FakeKubernetes(deployment(args=list(ARGS)), bad="9999")
    async with actuator(tmp_path, fake) as subject:
        before = await subject.snapshot()
        await subject.apply(await subject.plan(before, {"--max-num-seqs": "9999"}))
        state = await subject.healthy()
        assert (state.ok, state.oom) == (False, True)
        assert "ProgressDeadlineExceeded" in state.reason
        assert "vllm-1: OOMKilled" in state.reason
        await subject.roll_back(before)
        assert (await subject.healthy()).ok


async def test_what_somebody_else_changed_is_left_alone(tmp_path: Path) -> None:
    fake = FakeKubernetes(deployment(args=list(ARGS)))
    async with actuator(tmp_path, fake) as subject:
        plan = await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"})
        fake.container["args"] = ["--model", "other"]
        with pytest.raises(ChangeFailed, match="somebody else"):
            await subject.apply(plan)
        assert fake.container["args"] == ["--model", "other"]


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"argocd.argoproj.io/instance": "llm"}, "Argo CD"),
        ({"kustomize.toolkit.fluxcd.io/name": "llm"}, "Flux"),
        ({"serving.kserve.io/inferenceservice": "llm"}, "KServe"),
    ],
)
async def test_what_a_controller_would_put_back_is_refused(tmp_path: Path, labels: dict[str, str], owner: str) -> None:
    first = deployment(args=list(ARGS))
    first["metadata"]["labels"] |= labels
    async with actuator(tmp_path, FakeKubernetes(first)) as subject:
        with pytest.raises(Refused, match=owner):
            await subject.snapshot()


async def test_the_image_s_own_command_gains_arguments(tmp_path: Path) -> None:
    fake = FakeKubernetes(deployment())
    async with actuator(tmp_path, fake) as subject:
        before = await subject.snapshot()
        await subject.apply(await subject.plan(before, {"--max-num-seqs": "64"}))
        assert fake.container["args"] == ["--max-num-seqs", "64"]
        await subject.roll_back(before)
        assert "args" not in fake.container


@pytest.mark.parametrize(
    ("spec", "error"),
    [({"container": "none"}, "containers are"), ({"deployment": "other"}, "not found")],
)
async def test_a_wrong_name_is_told(tmp_path: Path, spec: dict[str, str], error: str) -> None:
    async with actuator(tmp_path, FakeKubernetes(deployment(args=list(ARGS))), **spec) as subject:
        with pytest.raises((UsageError, ChangeFailed), match=error):
            await subject.snapshot()


ONE_MORE, ONE_LESS = {"maxSurge": 1, "maxUnavailable": 0}, {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize(
    ("strategy", "meanwhile"),
    [
        (None, ONE_MORE),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}, ONE_MORE),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}, ONE_LESS),
        ({"type": "Recreate"}, ONE_LESS),
    ],
)
async def test_of_several_pods_one_goes_first_and_the_strategy_comes_back(
    tmp_path: Path, strategy: dict[str, Any] | None, meanwhile: dict[str, int]
) -> None:
    first = deployment(args=list(ARGS))
    if strategy is not None:
        first["spec"]["strategy"] = strategy
    fake = FakeKubernetes(first)
    async with actuator(tmp_path, fake) as subject:
        before = await subject.snapshot()
        plan = await subject.plan(before, {"--max-num-seqs": "64"})
        assert "/spec/strategy" in plan.text
        await subject.apply(plan)
        assert fake.object["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": meanwhile}
        await subject.roll_back(before)
        assert fake.object["spec"].get("strategy") == strategy


async def test_a_single_pod_keeps_its_strategy(tmp_path: Path) -> None:
    alone = deployment(args=list(ARGS))
    alone["spec"]["replicas"] = 1
    fake = FakeKubernetes(alone)
    async with actuator(tmp_path, fake) as subject:
        await subject.apply(await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"}))
    assert "strategy" not in fake.object["spec"]
