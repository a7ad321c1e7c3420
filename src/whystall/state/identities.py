"""Laws that hold between the signals of a healthy reading (method.md 1): each with its value and whether it holds."""

from __future__ import annotations

import numpy as np

from whystall.model.diagnosis import Identity
from whystall.model.engine_state import EngineState
from whystall.model.text import Text

from .histograms import count_of, mean_of

# A request that began before the window or ends after it is counted on one side only: below this many mean residences
# the edges outweigh the law.
_MIN_RESIDENCES = 5.0
_MIN_SECONDS = 30.0
_RESIDENCE_TOLERANCE = 0.05
# A law that may be off by a quarter without a fault proves nothing.
_LOOSEST = 0.25
_SUM_TOLERANCE = 0.05
_TOKEN_TOLERANCE = 0.02


def identities(state: EngineState) -> tuple[Identity, ...]:
    """All identities that could be written down; ``holds`` is None where the signals do not allow the test."""
    return (
        _residence(state),
        _waiting(state),
        _client_tokens(state),
        _flow(state),
        _latency_sum(state),
        _hit_rate(state),
    )


def _residence(state: EngineState) -> Identity:
    text = Text(
        "time that requests spent running, over the time-integral of running",
        "请求处于运行状态的总时间，与运行数对时间的积分之比",
    )
    gauge = (state.running_start, state.running_end)
    spent = float(np.nansum(state.prefill.sum) + np.nansum(state.decode.sum))
    each = mean_of(state.prefill) + mean_of(state.decode)
    return _ratio("I1", state, gauge, gauge, spent, count_of(state.decode), each, text)


def _waiting(state: EngineState) -> Identity:
    text = Text("queue time, over the time-integral of waiting", "排队时间，与等待数对时间的积分之比")
    gauge = (state.waiting_start, state.waiting_end)
    each = mean_of(state.queue) + mean_of(state.prefill) + mean_of(state.decode)
    # Who runs has waited already, and his wait is counted when he finishes.
    still = (state.waiting_start + state.running_start, state.waiting_end + state.running_end)
    spent = float(np.nansum(state.queue.sum))
    return _ratio("I2", state, gauge, still, spent, count_of(state.queue), each, text)


_Gauge = tuple[np.ndarray, np.ndarray]  # its values at the starts and at the ends of the intervals


def _ratio(
    name: str,
    state: EngineState,
    gauge: _Gauge,
    still: _Gauge,
    spent: float,
    finished: float,
    residence: float,
    text: Text,
) -> Identity:
    """``spent`` by those that finished, over the time-integral of ``gauge``; ``still``: the requests that are open."""
    over = _integral(*gauge, state.dt)
    if not over > 0 or not residence > 0:
        return Identity(name, None, None, text)
    ratio, seconds = spent / over, state.seconds
    tolerance = max(
        _RESIDENCE_TOLERANCE, residence / seconds, _edges(gauge, still, finished, state), _jumps(gauge, state)
    )
    enough = seconds >= _MIN_SECONDS and seconds >= _MIN_RESIDENCES * residence and tolerance <= _LOOSEST
    return Identity(name, ratio, abs(ratio - 1) <= tolerance if enough else None, text)


def _edges(gauge: _Gauge, still: _Gauge, finished: float, state: EngineState) -> float:
    """The share of the integral that requests open at either end of the window may make, each for its mean time."""
    over = _integral(*gauge, state.dt)
    each = min(over / finished, state.seconds) if finished > 0 else state.seconds
    return float(np.nan_to_num(still[0][0]) + np.nan_to_num(still[1][-1])) * each / over


def _jumps(gauge: _Gauge, state: EngineState) -> float:
    """The error of an integral over samples: where the gauge jumps between two, nobody saw when (two sigma)."""
    jumps = (gauge[1] - gauge[0]) * state.dt
    return float(np.sqrt(np.nansum(jumps**2))) / _integral(*gauge, state.dt)


def _client_tokens(state: EngineState) -> Identity:
    text = Text(
        "output tokens that the client got, over those that the engine made", "客户端收到的输出 token 与引擎生成数之比"
    )
    made = float(np.nansum(state.generation_tokens))
    if state.client is None or not made > 0:
        return Identity("I3", None, None, text)
    got = float(np.nansum(state.client.rows.output_tokens))
    # Requests still open at either edge are on one side only.
    open_share = float(np.nanmax([state.running_end[-1], 0.0])) * mean_of(state.output_length) / made
    tolerance = max(_TOKEN_TOLERANCE, open_share)
    return Identity("I3", got / made, abs(got / made - 1) <= tolerance if np.isfinite(tolerance) else None, text)


def _flow(state: EngineState) -> Identity:
    text = Text(
        "requests sent by the client, less those finished and refused and the change of running and waiting",
        "客户端发出数减去完成数、拒绝数以及运行与等待的变化",
    )
    if state.client is None or not len(state.dt):
        return Identity("I4", None, None, text)
    inside = (state.running_end[-1] + state.waiting_end[-1]) - (state.running_start[0] + state.waiting_start[0])
    refused = float(np.nansum(state.rejections))
    rest = float(np.nansum(state.client.sent) - np.nansum(state.finished) - refused - inside)
    # The client's file lacks requests that were open when the load stopped, so a shortfall proves nothing.
    return Identity("I4", rest, True if abs(rest) <= 1 else None, text)


def _latency_sum(state: EngineState) -> Identity:
    text = Text(
        "queue + prefill + decode, over end-to-end latency: the rest is the front end",
        "排队+预填充+解码时间，与端到端延迟之比；其余为前端",
    )
    whole = mean_of(state.e2e)
    if not whole > 0:
        return Identity("I11", None, None, text)
    parts = mean_of(state.queue) + mean_of(state.prefill) + mean_of(state.decode)
    ratio = parts / whole
    return Identity("I11", ratio, ratio <= 1 + _SUM_TOLERANCE if np.isfinite(ratio) else None, text)


def _hit_rate(state: EngineState) -> Identity:
    text = Text(
        "prompt tokens found in the cache, over those that were not computed",
        "缓存命中的提示 token 与未计算的提示 token 之比",
    )
    hits = float(np.nansum(state.prefix_hits)) + float(np.nansum(state.external_tokens))
    saved = float(np.nansum(state.prompt_tokens) - np.nansum(state.computed_tokens))
    if not saved > 0 or count_of(state.prompt_length) < 20:
        return Identity("I14", None, None, text)
    # Hits count at admission, prompt tokens at the first token: the queue between them is on one side only.
    return Identity("I14", hits / saved, True if abs(hits / saved - 1) <= 0.1 else None, text)


def _integral(start: np.ndarray, end: np.ndarray, dt: np.ndarray) -> float:
    return float(np.nansum((start + end) / 2 * dt))
