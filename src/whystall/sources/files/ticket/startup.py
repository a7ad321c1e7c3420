"""Starts that a ticket times: two ways to load the same weights, or the phases of one start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .figure import SECONDS, figure
from .leaf import Leaf, path_of

_START = re.compile(
    r"_(?:load|loads|loading|loader|weights|weight|shards?|cold_?starts?|start_?up|boot|lazy|eager_load|prefetch|mmap|"
    r"safetensors|model_load|ready|torch_compile|compile|cuda_graph_capture|capture)_"
)
_UNIT = re.compile(r"_(us|ms|s|sec|seconds|min|minutes|h|hours)_")
_PHASE = re.compile(r"_(?:phases?|startup|start_?up|cold_?start|breakdown)_")
_TOTAL = re.compile(r"_total_")
_OURS = re.compile(r"_(?:weights?|load|loading|shards?|download|compile|torch_compile|capture|graph_capture)_")
_FELT_S = 60.0  # pods are ready within a minute; a longer start is what an autoscaler feels
_LEAST_S = 10.0
_ALIKE = 1.25


def slow_starts(symptoms: dict[Any, Any], leaves: list[Leaf]) -> Iterator[tuple[str, float]]:
    """(feature, how many times longer) of the slowest start against another way, or against a minute.

    The feature is "" where other phases than loading and compiling take most of it.
    """
    timed = [(leaf.path, seconds) for leaf in leaves if (seconds := _seconds(leaf)) is not None]
    phases = {path: seconds for path, seconds in timed if _PHASE.search(path)}
    total = next((seconds for path, seconds in phases.items() if _TOTAL.search(path)), sum(phases.values()))
    if len(phases) >= 2 and total >= _FELT_S:
        ours = sum(seconds for path, seconds in phases.items() if _OURS.search(path) and not _TOTAL.search(path))
        yield ("start" if ours >= total / 2 else ""), total / _FELT_S
        return
    for side_by_side in _groups(symptoms):
        yield from _slower(side_by_side)


def _slower(timed: list[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Of the times that stand side by side: two starts, or one and what else took time; else one long start."""
    starts = [seconds for path, seconds in timed if _START.search(path)]
    if not starts or max(starts) < _LEAST_S:
        return
    others = starts if len(starts) > 1 else [seconds for _, seconds in timed]
    if max(others) >= _ALIKE * min(others):
        yield "start", max(others) / min(others)
    elif max(starts) >= 2 * _FELT_S:
        yield "start", max(starts) / _FELT_S


def _groups(found: dict[Any, Any], depth: int = 0) -> Iterator[list[tuple[str, float]]]:
    """The times of each dictionary of the tree."""
    own = [Leaf(path_of(str(key)), path_of(str(key)), value) for key, value in found.items()]
    yield [(leaf.path, seconds) for leaf in own if (seconds := _seconds(leaf)) is not None]
    for value in found.values():
        for inner in value[:100] if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and depth < 8:
                yield from _groups(inner, depth + 1)


def _seconds(leaf: Leaf) -> float | None:
    """A time of seconds or more; the unit is in the text or in the last name that has one."""
    stated = figure(leaf.value)
    if stated is None:
        return None
    unit = stated.unit if stated.unit in SECONDS else ""
    named = _UNIT.findall(leaf.key) or _UNIT.findall(leaf.path)
    unit = unit or (named[-1] if named else "")
    found = stated.middle * SECONDS[unit] if unit in SECONDS else 0.0
    return found if found >= 1.0 else None
