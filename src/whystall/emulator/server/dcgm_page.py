"""The page of a DCGM exporter beside an emulated server: each rank of each replica is a GPU."""

from __future__ import annotations

from .deployment import Deployment


def dcgm_page(deployment: Deployment, now: float) -> str:
    """The exporter's page at ``now`` (unix seconds of the emulated clock)."""
    pages = []
    ranks = [(replica, rank) for replica in deployment.replicas for rank in replica.ranks]
    for index, (replica, rank) in enumerate(ranks):
        replica.meters.absorb()
        device = f'gpu="{index}",UUID="GPU-emulated-{index}",device="nvidia{index}"'
        labels = f'{device},modelName="emulated",Hostname="emulated"'
        steps, tokens = replica.meters.work()
        pages.append(replica.gpu.page(replica.engine, now, steps, tokens, labels, rank))
    return "".join(pages)
