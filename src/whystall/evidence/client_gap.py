"""By how much first tokens reach the client later than the server gave them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState

from .smoothing import SMOOTH_S, around, smooth_mean
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.int64]

_SIGMAS = 2.0  # 95%
_MISSED = 0.1  # of the requests: those sent before the window, and those that failed half way


class RowGaps(NamedTuple):
    """The client's requests in the order in which their first tokens ``came`` (seconds since the window's start).

    ``gap_s`` is that of the interval in which it came, ``variance`` what the requests that the client's file lacks leave
    open of it for a single one. ``whole``: all that the file lacks of the server's requests was still open.
    """

    came: Floats
    gap_s: Floats
    variance: Floats
    whole: bool


def row_gaps(state: EngineState) -> RowGaps | None:
    """The client's mean TTFT less the server's, of the same interval; None without a client.

    By interval and not over a stretch: where a queue grows, the client's file lacks what is still open at its end, and a
    mean over the rest speaks of another time. A client of several engines behind one page sees the mean over all of them.
    """
    view = state.client
    if view is None or not len(state.dt):
        return None
    came = view.rows.sent + view.rows.ttft_s - state.start
    kept = (came >= state.t_start[0]) & (came <= state.t_end[-1])
    order = np.argsort(came[kept], kind="stable")
    came, ttft = came[kept][order], view.rows.ttft_s[kept][order]
    at, m = np.minimum(np.searchsorted(state.t_end, came), len(state.dt) - 1), len(state.dt)
    number = np.bincount(at, minlength=m)[at]
    mean = np.bincount(at, ttft, m)[at] / number
    spread = np.bincount(at, (ttft - mean) ** 2, m)[at] / number
    total, count = _of_the_server(state)
    with np.errstate(invalid="ignore", divide="ignore"):
        theirs = np.where(count > 0, total / count, smooth_mean(state, total, count))[at]
        lacks = np.clip(1 - number / count[at], 0.0, 1.0)
    seen = np.isfinite(theirs)
    still_open = np.nan_to_num(state.running_end[-1] + sum(peer.running[-1] for peer in state.peers))
    whole = bool(count.sum() - len(came) <= still_open + _MISSED * count.sum())
    return RowGaps(came[seen], (mean - theirs)[seen], (spread * np.nan_to_num(lacks))[seen], whole)


def _of_the_server(state: EngineState) -> tuple[Floats, Floats]:
    """Seconds to first tokens and how many of them, by interval, over all engines of the page."""
    total, count = np.nan_to_num(state.ttft.sum), np.nan_to_num(state.ttft.count)
    for peer in state.peers:
        total, count = total + np.nan_to_num(peer.ttft_sum), count + np.nan_to_num(peer.ttft_count)
    return total, count


def client_gap(state: EngineState) -> Floats:
    """Seconds by which first tokens surely come later to the client, by interval; NaN where too few are to be compared.

    Over the interval's own requests: where these were in time it has no part in the loss of its neighbours. Where they
    are fewer than a mean needs, over those of some seconds around it, or the nearest ones. A client that saw under half of
    what the server served speaks of a part of the traffic only, unless it is its only one and what it lacks is still open.
    """
    found = row_gaps(state)
    if found is None:
        return np.full(len(state.dt), np.nan)
    middle, count, came = (state.t_start + state.t_end) / 2, _of_the_server(state)[1], found.came
    own = np.searchsorted(came, state.t_start), np.searchsorted(came, state.t_end)
    near = np.searchsorted(came, middle - SMOOTH_S / 2), np.searchsorted(came, middle + SMOOTH_S / 2)
    gap = _sure(found, *_nearest(came, middle)) if found.whole else np.full(len(state.dt), np.nan)
    for (first, last), served in ((near, around(state, count)), (own, count)):
        enough = (last - first >= level("front_requests")) & (found.whole | (2 * (last - first) >= served))
        gap = np.where(enough, _sure(found, first, last), gap)
    return gap


def _nearest(came: Floats, middle: Floats) -> tuple[Indices, Indices]:
    """First and last + 1 of the ten requests around each time of ``middle``."""
    least, far = int(level("front_requests")), level("settle_min")  # what was further off says nothing of now
    first = np.clip(np.searchsorted(came, middle) - least // 2, 0, max(len(came) - least, 0))
    return np.fmax(first, np.searchsorted(came, middle - far)), np.fmin(
        first + least, np.searchsorted(came, middle + far)
    )


def _sure(found: RowGaps, first: Indices, last: Indices) -> Floats:
    """The mean gap of the requests from ``first`` to ``last`` less its doubt, by interval; NaN where they are too few."""
    number = last - first
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.concatenate(
            (np.zeros((1, 3)), np.cumsum(np.column_stack((found.gap_s, found.gap_s**2, found.variance)), axis=0))
        )
        mean, square, lacking = ((total[last] - total[first]) / number[:, None]).T
        doubt = _SIGMAS * np.sqrt(((square - mean**2).clip(min=0) + lacking) / number)
    return np.where(number >= level("front_requests"), np.where(mean > 0, (mean - doubt).clip(min=0), mean), np.nan)


def sure_gap(state: EngineState, where: Bools) -> tuple[float, float]:
    """The mean gap of the requests whose first tokens came in the intervals ``where``, and the least that it surely is.

    NaN where none came, or where the client saw too little of them.
    """
    found = row_gaps(state)
    if found is None:
        return math.nan, math.nan
    where = where & np.isfinite(client_gap(state))
    chosen = where[np.minimum(np.searchsorted(state.t_end, found.came), len(state.dt) - 1)]
    gaps = found.gap_s[chosen]
    if not len(gaps):
        return math.nan, math.nan
    doubt = _SIGMAS * math.sqrt((float(gaps.var()) + float(found.variance[chosen].mean())) / len(gaps))
    return float(gaps.mean()), float(gaps.mean()) - doubt
