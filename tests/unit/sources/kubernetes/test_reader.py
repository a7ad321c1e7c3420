"""A Deployment's pods through an API server that takes no wrong path, query or token."""

from __future__ import annotations

import base64

import pytest
from aiohttp import web

from fake_kubernetes import TOKEN, FakeApi, pod, status
from servers import certificate, http_server, server_tls
from whystall.errors import AccessDenied, NotMetrics, TooLittleData, Unavailable, UsageError
from whystall.sources.kubernetes.connection import connection
from whystall.sources.kubernetes.pods import event_warnings, moment, pods_of
from whystall.sources.kubernetes.question import is_kubernetes, parse_kubernetes
from whystall.sources.kubernetes.reader import read_kubernetes
from whystall.sources.live.access import Access

OPEN = Access()


async def read(api, target="k8s://llm/vllm", token=TOKEN, more=""):
    async with http_server(api.handler) as base:
        question = parse_kubernetes(f"{target}?api={base}{more}")
        return await read_kubernetes(question, 0.3, 0.1, Access(token=token, timeout_s=3), target)


async def test_a_recording_for_each_pod_with_its_arguments_and_log():
    api = FakeApi(pod("vllm-a"), pod("vllm-b"))
    api.logs["vllm-a", False] = "(APIServer pid=1) INFO 11-30 08:00:00 [x.py:1] vLLM API server version 0.26.0"
    found = await read(api)
    assert list(found) == ["vllm-a", "vllm-b"]
    one = found["vllm-a"]
    assert one.target.text == "k8s://llm/vllm vllm-a"
    assert one.argv == ("--model", "m", "--max-num-seqs", "4", "--port", "9001")
    assert one.log[0].text == "vLLM API server version 0.26.0"
    assert len(one.metrics.times) > 1
    assert one.host is None  # the proxy's host is not the server's


async def test_a_pod_that_was_killed_for_memory_says_so():
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-30T08:00:00Z"}}
    killed = pod("vllm-a", container_status={"restartCount": 2, "lastState": ended})
    events = [
        {"type": "Warning", "reason": "Unhealthy", "message": "probe failed", "count": 3,
         "involvedObject": {"name": "vllm-a"}},
        {"type": "Warning", "reason": "Other", "message": "not ours", "involvedObject": {"name": "web"}},
    ]  # fmt: skip
    api = FakeApi(killed, events=events)
    api.logs["vllm-a", True] = "the run before"
    (one,) = (await read(api)).values()
    said = " | ".join(warning.text.en for warning in one.warnings)
    assert "pod vllm-a: OOMKilled, 2 restarts" in said
    assert "Unhealthy ×3: probe failed" in said
    assert "not ours" not in said
    assert one.log[0].text == "the run before"
    (line,) = [line for line in one.log if "Killed process" in line.text]
    assert line.t == 1_796_025_600


async def test_a_pod_without_a_page_is_told_by_its_log():
    api = FakeApi(pod("vllm-a"))
    api.logs["vllm-a", False] = "ERROR 11-30 08:00:00 [core.py:1] EngineCore failed to start."
    (one,) = (await read(api, more="&port=9999")).values()
    assert not len(one.metrics.times)
    assert one.metrics.failed
    assert any("gave no page" in warning.text.en for warning in one.warnings)


async def test_nothing_at_all_is_explained():
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient nvidia.com/gpu"}
    api = FakeApi(pod("vllm-a", phase="Pending", conditions=[unscheduled]))
    with pytest.raises(TooLittleData, match=r"Pending .*Insufficient nvidia.com/gpu"):
        await read(api, more="&port=9999")
    with pytest.raises(TooLittleData, match="no pod with an engine"):
        await read(FakeApi())


async def test_a_namespace_is_searched_for_engines():
    web_pod = pod("web")
    web_pod["spec"]["containers"] = [{"name": "web", "image": "nginx"}]
    api = FakeApi(web_pod, pod("vllm-a"))
    assert list(await read(api, target="k8s://llm")) == ["vllm-a"]


@pytest.mark.parametrize(
    ("instead", "error", "said"),
    [
        (lambda: status(403, 'pods is forbidden: User "u"'), AccessDenied, "is forbidden"),
        (lambda: status(404, 'deployments.apps "vllm" not found'), UsageError, "not found"),
        (lambda: status(500, "etcd"), Unavailable, "etcd"),
        (lambda: web.Response(text='{"kind": "Depl'), NotMetrics, "half an answer"),
        (lambda: web.Response(text="<html>"), NotMetrics, "no answer of an API server"),
    ],
)
async def test_other_answers_are_named(instead, error, said):
    api = FakeApi(pod("vllm-a"))
    api.instead = instead
    with pytest.raises(error, match=said):
        await read(api)


async def test_a_wrong_token_is_named_and_not_shown():
    with pytest.raises(AccessDenied, match="401") as error:
        await read(FakeApi(pod("vllm-a")), token="wrong-token")
    assert "wrong-token" not in str(error.value)


async def test_a_kubeconfig_with_its_own_authority(tmp_path):
    cert, key = certificate(tmp_path)
    ca = base64.b64encode(cert.read_bytes()).decode()
    file = tmp_path / "config"
    api = FakeApi(pod("vllm-a"))
    async with http_server(api.handler, tls=server_tls(cert, key)) as base:
        file.write_text(
            f"""
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "{base}", certificate-authority-data: {ca}}}}}]
users: [{{name: u, user: {{token: {TOKEN}}}}}]
"""
        )
        with connection("", "", OPEN, {"KUBECONFIG": str(file)}) as (address, access):
            assert address.base == base
            assert access.token == TOKEN
            assert access.ca is not None
            assert access.ca.stat().st_mode & 0o077 == 0
        assert not access.ca.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not YAML"),
        ("5", "no kubeconfig"),
        ("current-context: x", "has no context 'x'"),
        (
            "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: "
            "{server: 'https://h'}}], users: [{name: u, user: {exec: {command: aws}}}]}",
            "from another program",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path, text, said):
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(UsageError, match=said), connection("", "", OPEN, {"KUBECONFIG": str(file)}):
        pass


def test_inside_a_pod_the_service_account_is_used(tmp_path):
    (tmp_path / "token").write_text("sa")
    (tmp_path / "ca.crt").write_text("x")
    here = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    with connection("", "", OPEN, here, tmp_path) as (address, access):
        assert (address.base, access.token, access.ca) == ("https://10.0.0.1:6443", "sa", tmp_path / "ca.crt")


@pytest.mark.parametrize("bad", ["k8s://", "k8s://LLM/x", "k8s://a/b/c", "k8s://a?port=x", "k8s://a?what=1"])
def test_a_wrong_target_is_refused(bad):
    assert is_kubernetes(bad)
    with pytest.raises(UsageError):
        parse_kubernetes(bad)


def test_hostile_pods_break_nothing():
    rows = [None, {}, {"spec": {"containers": [None, {"name": 5, "args": [1, None], "ports": [3]}]}}]
    (only,) = pods_of(rows, "", 0, only_engines=False)
    assert (only.port, only.argv) == (8000, ())
    assert event_warnings([None, {"involvedObject": 3}], {"a"}) == ()
    assert moment("yesterday") is None
