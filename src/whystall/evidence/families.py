"""All evidence of a scene: one family a module, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whystall.model.diagnosis import Evidence

from .baseline import baseline
from .client import client
from .contrast import contrast
from .deferred import deferred
from .events import events
from .forecast import forecast
from .gpu import gpu
from .host import host
from .latency import latency
from .link import link
from .log import log
from .memory import memory
from .multimodal import multimodal
from .peers import peers
from .piling import piling
from .pipeline import pipeline
from .progress import progress
from .ranks import ranks
from .residual import residual
from .saturation import saturation
from .scene import Scene
from .settings import settings
from .slow_steps import slow_steps
from .speculation import speculation
from .start import start
from .startup import startup
from .trace import trace
from .transfer import transfer
from .waves import waves
from .workload import workload

FAMILIES: tuple[Callable[[Scene], Iterator[Evidence]], ...] = (
    progress,
    saturation,
    deferred,
    latency,
    residual,
    workload,
    piling,
    host,
    gpu,
    ranks,
    client,
    link,
    log,
    events,
    startup,
    settings,
    memory,
    peers,
    multimodal,
    speculation,
    pipeline,
    transfer,
    start,
    trace,
    contrast,
    slow_steps,
    waves,
    baseline,
    forecast,
)


def collect(scene: Scene) -> dict[str, Evidence]:
    """Evidence by id; what the signals do not show is absent."""
    return {evidence.id: evidence for family in FAMILIES for evidence in family(scene)}
