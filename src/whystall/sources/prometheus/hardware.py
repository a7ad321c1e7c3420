"""Which exporters' series belong to an engine: those of its pod, of its host, of its node."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import numpy as np

from whystall.model.recording import SeriesKey, SeriesTable

from .matrix import Samples, table_of

_HOST = (
    "node_cpu_seconds_total|node_load1|node_memory_MemAvailable_bytes|node_pressure_cpu_waiting_seconds_total|"
    "container_cpu_cfs_throttled_seconds_total|container_cpu_cfs_periods_total|"
    "container_cpu_cfs_throttled_periods_total|container_spec_cpu_quota|container_spec_cpu_period"
)
_GPU = "DCGM_FI_(DEV|PROF)_.+"
_MOST = 200  # names in one matcher


class Place(msgspec.Struct, frozen=True):
    """Where an engine runs, as far as its series tell: names of the host, and (namespace, pod) where it is one."""

    hosts: frozenset[str] = frozenset()
    pod: tuple[str, str] = ("", "")


def place_of(server: str, table: SeriesTable) -> Place:
    """By the instance's host, and the labels that a service discovery adds: node, namespace, pod."""
    hosts = {_host(server)} | {key.label(name) for key in table.keys for name in ("node", "nodename")}
    pods = {(key.label("namespace"), key.label("pod")) for key in table.keys if key.label("pod")}
    return Place(frozenset(hosts - {""}), min(pods, default=("", "")))


def selectors(places: Iterable[Place]) -> list[str]:
    """PromQL of the series that may belong to any of the places; each exporter names its host by another label."""
    found = list(places)
    hosts = sorted({host for place in found for host in place.hosts})[:_MOST]
    pods = sorted({place.pod[1] for place in found} - {""})[:_MOST]
    named = "|".join(re.escape(host).replace("\\", "\\\\") for host in hosts)
    asked = [f'__name__=~"{_HOST}|{_GPU}",instance=~"({named})(:[0-9]+)?"']
    asked += [f'__name__=~"{_GPU}",Hostname=~"{named}"', f'__name__=~"{_HOST}|{_GPU}",node=~"{named}"']
    if pods:
        one = "|".join(re.escape(pod).replace("\\", "\\\\") for pod in pods)
        asked += [f'__name__=~"container_.+|{_GPU}",pod=~"{one}"', f'__name__=~"{_GPU}",exported_pod=~"{one}"']
    return ["{" + inside + "}" for inside in asked]


def beside(samples: Samples, place: Place) -> SeriesTable:
    """The exporters' series of a place: a pod's own where a label names it, else all of the host."""
    own = [(key, points) for (server, key), points in samples.columns.items() if _belongs(server, key, place)]
    pods = {_pod(key) for key, _ in own}
    if place.pod in pods and place.pod[1]:
        own = [pair for pair in own if not _pod(pair[0])[1] or _pod(pair[0]) == place.pod]
    return table_of(own) if own else SeriesTable(np.zeros(0), (), np.zeros((0, 0)))


def _belongs(server: str, key: SeriesKey, place: Place) -> bool:
    if _pod(key)[1] and key.name.startswith("container_"):
        return _pod(key) == place.pod
    names = {_host(server), key.label("Hostname"), key.label("node"), key.label("nodename")}
    return bool(names & place.hosts) or (bool(_pod(key)[1]) and _pod(key) == place.pod)


def _pod(key: SeriesKey) -> tuple[str, str]:
    """Of the pod that a series is about; a scrape that keeps its own labels calls them ``exported_…``."""
    if key.label("exported_pod"):
        return key.label("exported_namespace"), key.label("exported_pod")
    return key.label("namespace"), key.label("pod")


def _host(server: str) -> str:
    host, colon, port = server.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else server
