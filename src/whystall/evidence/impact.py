"""What the incident costs, in the units of the user."""

from __future__ import annotations

import math

import numpy as np

from whystall.model.diagnosis import Impact
from whystall.state.histograms import count_above, count_of, mean_of, quantile_of

from .scene import Scene
from .smoothing import runs
from .thresholds import level


def impact(scene: Scene) -> Impact:
    """Figures over the incident, or over the window when nothing hurts; None where nothing was seen."""
    state, inside = scene.state, scene.inside
    finished = float(np.nansum(state.finished[inside]))
    return Impact(
        ttft_p95_s=_seen(quantile_of(state.ttft, 0.95, inside)[0]),
        itl_p95_s=_seen(quantile_of(state.itl, 0.95, inside)[0]),
        e2e_p95_s=_seen(quantile_of(state.e2e, 0.95, inside)[0]),
        ttft_mean_s=_seen(mean_of(state.ttft, inside)),
        itl_mean_s=_seen(mean_of(state.itl, inside)),
        queue_s=_seen(scene.queue_delay_s) if np.isfinite(state.waiting_end[inside]).any() else None,
        tokens_per_s=_seen(scene.rate(state.generation_tokens)),
        errors_per_s=_seen(_errors(scene)),
        rejected_per_s=_seen(scene.rate(state.rejections)),
        requests_affected_ratio=_affected(scene, finished),
        window_s=scene.seconds,
        lost_s=_surely_lost(scene),
        lost_until_s=float(state.t_end[scene.focus.lost][-1]) if scene.focus.lost.any() else None,
    )


def _surely_lost(scene: Scene) -> float:
    """Seconds lost since the incident began, and before it those that no load loses by itself.

    A loss of ``episode_min`` on either side of a scrape is late in both intervals, however long they are: of each run of
    intervals longer than that, one is sure for so much only. A queue minutes ago is a wave that passed.
    """
    state, focus = scene.state, scene.focus
    lost = focus.broken | (focus.lost & (np.arange(len(state.dt)) >= int(np.argmax(focus.inside))))
    least = level("episode_min")
    found = (state.dt[start:stop] for start, stop in runs(lost))
    return float(sum(dt.sum() - max(float(np.median(dt)) - least, 0.0) for dt in found))


def _errors(scene: Scene) -> float:
    """Errors a second: the server's 5xx, or what the client met where that is more (time-outs, lost connections)."""
    client = scene.state.client
    met = scene.rate(client.errors) if client is not None else math.nan
    return float(np.fmax(scene.rate(scene.state.http_errors), met))


def _affected(scene: Scene, finished: float) -> float | None:
    """Share of requests whose first token came later than the SLO's bound, or than the bucket above a felt wait."""
    if not scene.focus.hurts:
        return 0.0
    state = scene.state
    seen = count_of(state.ttft, scene.inside)
    refused = float(np.nansum(state.rejections[scene.inside]))
    if not seen + refused > 0:
        return 1.0 if scene.focus.kinds.get("stall") else None
    bound = scene.slo.ttft_p95_s if scene.slo is not None and scene.slo.ttft_p95_s else 2 * level("felt_wait")
    late = count_above(state.ttft, bound, scene.inside)
    return min(1.0, (late + refused) / (seen + refused))


def _seen(value: float) -> float | None:
    return value if math.isfinite(value) else None
