"""What a restart inside the window changed of the settings, from the log's starts and from the page's own labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from whystall.model.configuration import SettingShift
from whystall.model.recording import Recording, SeriesKey

from .dialects import quantity, vllm_settings
from .starts import starts

# The same flags on the same GPU give block counts that differ by less from start to start.
SAME_SHARE = 0.005
_MEMORY = ("num_gpu_blocks", "kv_cache_size_tokens")


def asked(recording: Recording) -> tuple[float, float]:
    """From the first to the last time at which the server was asked for a page, unix seconds."""
    times = [
        *recording.metrics.times[:1],
        *recording.metrics.times[-1:],
        *(scrape.t for scrape in recording.metrics.failed),
    ]
    return float(min(times)), float(max(times))


def shifts(recording: Recording) -> tuple[SettingShift, ...]:
    """Settings that differ between successive starts of the window, the log's word before the page's."""
    start, end = asked(recording)
    found = {shift.name: shift for shift in (*_labelled(recording), *_logged(recording, start, end))}
    return tuple(found.values())


def _logged(recording: Recording, start: float, end: float) -> Iterator[SettingShift]:
    known = [one for one in starts(recording.log, end) if one.flags is not None]
    for old, new in pairwise(known):
        if new.begun is None or new.begun < start or old.flags is None or new.flags is None:
            continue
        for name in sorted({*old.flags, *new.flags}):
            before, after = old.flags.get(name), new.flags.get(name)
            if before != after:
                yield SettingShift(name, before, after, new.begun)


def _labelled(recording: Recording) -> Iterator[SettingShift]:
    """Labels of ``cache_config_info`` of each engine's first series of the window against its last."""
    table = recording.metrics
    series: dict[str, list[tuple[int, SeriesKey]]] = {}
    for row, key in enumerate(table.keys):
        known = quantity(key.name)
        if known is not None and known.name == "cache_config_info" and (seen := np.isfinite(table.values[row])).any():
            series.setdefault(key.label("engine"), []).append((int(seen.argmax()), key))
    for rows in series.values():
        rows.sort(key=lambda pair: pair[0])
        (_, first), (at, last) = rows[0], rows[-1]
        if at == 0:  # they stand beside each other: labels of one start
            continue
        for label, name in vllm_settings.CACHE_LABELS.items():
            before, after = first.label(label), last.label(label)
            if before != after and not _same(name, before, after):
                yield SettingShift(name, before, after, float(table.times[at]))


def _same(name: str, before: str, after: str) -> bool:
    """What profiling of memory makes of each start."""
    if name not in _MEMORY or not (before.isdigit() and after.isdigit()):
        return False
    return abs(int(after) - int(before)) <= SAME_SHARE * int(before)
