"""A node's page with several replicas, taken apart."""

import numpy as np

from fake_ray import ray_page
from heard import Heard
from servers import counter_page
from whystall.service.node_page import NodePage, Replica
from whystall.sources.exposition import PageParser
from whystall.sources.ray.replicas import SILENT_REPORT_S


class Everybody:
    def __init__(self) -> None:
        self.heard = Heard()

    def meet(self, replica: Replica) -> Heard:
        replica.name = replica.id
        return self.heard


def take(node: NodePage, parser: PageParser, t: float, **values: float) -> None:
    text = "".join(ray_page(counter_page(value), name) for name, value in values.items())
    node.page("n", t, parser.parse(text.encode()), parser.keys)


async def test_each_replica_gets_its_own_series_when_they_are_new():
    everybody, parser = Everybody(), PageParser()
    node = NodePage("n:1", everybody)
    take(node, parser, 0.0, a=1.0, b=1.0)  # of unknown age
    take(node, parser, 5.0, a=1.0, b=2.0)
    take(node, parser, 10.0, a=3.0, b=2.0)
    pages = [(name, more["ray_vllm_generation_tokens_total"]) for _, name, more in everybody.heard.all]
    assert pages == [("b", 2.0), ("a", 3.0)]


async def test_a_replica_that_stands_still_is_told_so():
    everybody, parser = Everybody(), PageParser()
    node = NodePage("n:1", everybody)
    for t in np.arange(0.0, SILENT_REPORT_S + 11.0, 5.0):
        take(node, parser, float(t), a=1.0)
    assert everybody.heard.count("page") == 1


async def test_the_nodes_own_rows_are_kept_apart():
    everybody, parser = Everybody(), PageParser()
    node = NodePage("n:1", everybody)
    take(node, parser, 0.0, a=1.0)
    take(node, parser, 5.0, a=1.0)
    rows = node.node_rows()
    assert {key.name for key in rows.keys} == {"ray_node_cpu_utilization", "ray_node_cpu_count"}
    assert len(rows.times) == 2
    assert list(node.node_rows().times) == [5.0]
    node.failed("n", 6.0, "TimedOut", "")
    assert everybody.heard.all == [("failed", "a", ("TimedOut", ""))]
