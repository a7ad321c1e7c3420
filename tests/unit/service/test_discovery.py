"""Which targets tell of several, and whose loop finds them."""

import pytest

from heard import Heard
from whystall.errors import UsageError
from whystall.service.discovery import discovers, discovery, require_question
from whystall.service.pod_watching import PodWatching
from whystall.service.polling import Polling
from whystall.service.replica_watching import ReplicaWatching
from whystall.service.server import Watching
from whystall.service.target import WatchTarget


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("k8s://llm/vllm", PodWatching),
        ("ray+http://head:8265?application=llm", ReplicaWatching),
        ("prometheus+https://prom:9090?job=vllm", Polling),
    ],
)
def test_each_kind_has_its_loop(target, kind):
    assert discovers(target)
    require_question(target)
    assert isinstance(discovery(WatchTarget("a", target), Watching(), Heard()), kind)


@pytest.mark.parametrize("target", ["http://a:8000", "a:8000", "https://k8s/x"])
def test_a_servers_own_address_is_one(target):
    assert not discovers(target)


@pytest.mark.parametrize("target", ["k8s://", "ray+http://h?x=1", "prometheus+http://h?query=sum(x)"])
def test_what_cannot_be_read_is_refused(target):
    with pytest.raises(UsageError):
        require_question(target)
    with pytest.raises(UsageError):
        discovery(WatchTarget("a", target), Watching(), Heard())
