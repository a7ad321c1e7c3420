"""Series of exporters to the columns of GPUs and host that a server's own host would give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from whystall.errors import NotMetrics
from whystall.model.recording import GpuColumns, HostColumns, SeriesTable
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.host import HostRow, host_columns

from . import dcgm, nodes, ray_node


def gpu_of(table: SeriesTable) -> GpuColumns | None:
    """The GPUs in a table of one host: DCGM's fields, else Ray's; None where it has neither."""
    rows: list[GpuRow] = dcgm.gpu_rows(table) or ray_node.gpu_rows(table)
    return gpu_columns(rows)


def host_of(table: SeriesTable) -> HostColumns | None:
    """The host in a table of one host: node_exporter's series with cAdvisor's, else Ray's; None where it has none."""
    rows: list[HostRow] = nodes.host_rows(_on_one_grid(table)) or ray_node.host_rows(table)
    return host_columns(rows)


def _on_one_grid(table: SeriesTable) -> SeriesTable:
    """node_exporter and cAdvisor are scraped at times of their own: the latter's counters on the former's times."""
    host = [row for row, key in enumerate(table.keys) if key.name.startswith("node_")]
    group = [row for row, key in enumerate(table.keys) if key.name.startswith("container_")]
    if not host or not group:
        return table
    there = np.isfinite(table.values[host]).any(axis=0)
    times = table.times[there]
    values = table.values[:, there].copy()
    for row in group:
        seen = np.isfinite(table.values[row])
        if seen.any():
            known = table.values[row, seen]
            values[row] = np.interp(times, table.times[seen], known, left=np.nan, right=np.nan)
    return SeriesTable(times, table.keys, values)


def not_hardware(url: str) -> NotMetrics:
    """That an address is none of an exporter of GPUs or hosts."""
    return NotMetrics(
        f"{url} serves metrics, but neither DCGM's nor node_exporter's", "check the port: mostly 9400 and 9100"
    )


def is_hardware(names: Iterable[str]) -> bool:
    """Whether any of the names is one that is read here."""
    return any(name.startswith(("DCGM_FI_", "node_", "container_", "ray_node_")) for name in names)
