"""Pods of one Deployment beside each other: one that gets more than its share is told from too little capacity."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.service.look import look
from whystall.service.lookout import Lookout
from whystall.service.server import Watching
from whystall.service.siblings import siblings
from whystall.sources.exposition import PageParser
from whystall.sources.load_sharing import shares_load

START = 1_790_000_000.0


class Pods:
    """Emulated servers with 16 seats behind one target; ``rates`` is what each gets after five minutes."""

    def __init__(self, **rates: float) -> None:
        self.lookout = Lookout(Watching())
        self.opened: dict[str, str] = {}
        self.deployments: dict[str, Deployment] = {}
        self.parsers = {name: PageParser() for name in rates}
        for seed, (name, rate) in enumerate(rates.items()):
            serving = healthy_serving("seat_cap")
            traffic = replace(serving.traffic, rate=4.0)
            serving = replace(serving, traffic=traffic, seed=seed, flags={**serving.flags, "max_num_seqs": 16})
            deployment = Deployment(serving, start=START)
            changed = replace(traffic, rate=rate)
            deployment.at(START + 300, lambda d, _t, plan=changed: setattr(d.traffic, "plan", plan))
            self.deployments[name] = deployment
            self.lookout.watch(f"k8s~{name}", f"k8s://llm/vllm {name}")

    def run(self, seconds: int) -> None:
        for t in range(0, seconds, 5):
            for name, deployment in self.deployments.items():
                deployment.advance(START + t)
                page = self.parsers[name].parse(deployment.page().encode())
                job = self.lookout.take(f"k8s~{name}", START + t, page, self.parsers[name].keys)
                for happening in self.lookout.looked(job, look(job)) if job else ():
                    if happening.what != "recovered":
                        self.opened[name] = happening.incident.cause


@pytest.mark.slow
def test_a_pod_that_gets_more_than_its_share_is_told_from_too_few_pods() -> None:
    uneven, full = Pods(a=26.0, b=1.5, c=1.5), Pods(a=26.0, b=26.0, c=26.0)
    uneven.run(600)
    full.run(600)
    assert uneven.opened == {"a": "replica_imbalance"}
    assert full.opened
    assert "replica_imbalance" not in full.opened.values()


def test_only_those_behind_the_same_target_that_serve_the_same_model_are_siblings() -> None:
    pods = Pods(a=4.0, b=4.0)
    pods.run(90)
    servers = pods.lookout.servers
    assert [one.id for one in siblings(servers["k8s~a"], servers.values())] == ["k8s~b"]
    (other,) = siblings(servers["k8s~a"], servers.values())
    assert len(other.t) == 18
    assert np.all(np.diff(other.tokens) >= 0)
    assert other.tokens[-1] > 0
    engine = next(iter(servers["k8s~b"].engines.values()))
    engine.course.engine = replace(engine.course.engine, model="another")
    assert siblings(servers["k8s~a"], servers.values()) == ()
    pods.lookout.watch("alone", "http://alone")
    assert siblings(servers["alone"], servers.values()) == ()


@pytest.mark.parametrize(
    ("target", "member", "group"),
    [
        ("k8s://llm/vllm?api=http://a:1", "vllm-x", "k8s://llm/vllm?api=http://a:1"),
        ("k8s://llm", "vllm-x", ""),  # a namespace has whatever is there, prefill beside decode
        ("ray+http://head:8265", "llm/LLM:m r1", "llm/LLM:m"),
        ("ray+http://head:8265", "r1", ""),
        ("prometheus+http://p:9090", "a:1", ""),
        ("http://a:8000", "http://a:8000", ""),
    ],
)
def test_only_a_deployment_says_that_its_servers_share_a_load(target: str, member: str, group: str) -> None:
    assert shares_load(target, member) == group
