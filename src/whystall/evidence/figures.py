"""The figures of one engine's window: what an engineer would read off a dashboard, each with its rows over time."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from whystall.model.comparison import Better, Group
from whystall.model.engine_state import EngineState, Floats, HistogramDelta
from whystall.model.text import Text
from whystall.state.histograms import mean_of, means, quantile_of

NAN = float("nan")


class Figure(msgspec.Struct, frozen=True):
    """How a figure is read off a state: its value over the window, and its values by interval where it has such.

    ``least`` is the smallest difference, in ``unit``, that is worth a line.
    """

    id: str
    group: Group
    label: Text
    unit: str
    better: Better
    least: float
    value: Callable[[EngineState], float]
    rows: Callable[[EngineState], Floats] | None = None


def _valid_sum(state: EngineState, increase: Floats) -> float:
    chosen = increase[state.valid]
    return float(np.nansum(chosen)) if np.isfinite(chosen).any() else NAN


def _ratio(over: float, under: float) -> float:
    return over / under if under > 0 else NAN


def _rate(
    id: str,
    group: Group,
    label: Text,
    unit: str,
    better: Better,
    increase: Callable[[EngineState], Floats],
    least: float,
) -> Figure:
    def value(state: EngineState) -> float:
        seen = state.valid & np.isfinite(increase(state))
        return _ratio(_valid_sum(state, increase(state)), float(state.dt[seen].sum()))

    return Figure(id, group, label, unit, better, least, value, lambda state: increase(state) / state.dt)


def _gauge(
    id: str, group: Group, label: Text, unit: str, better: Better, rows: Callable[[EngineState], Floats], least: float
) -> Figure:
    def value(state: EngineState) -> float:
        known = state.valid & np.isfinite(rows(state))
        return _ratio(float((rows(state) * state.dt)[known].sum()), float(state.dt[known].sum()))

    return Figure(id, group, label, unit, better, least, value, rows)


def _mean(
    id: str,
    group: Group,
    label: Text,
    unit: str,
    better: Better,
    of: Callable[[EngineState], HistogramDelta],
    least: float,
) -> Figure:
    return Figure(
        id,
        group,
        label,
        unit,
        better,
        least,
        lambda state: mean_of(of(state), state.valid),
        lambda state: means(of(state)),
    )


def _p95(id: str, label: Text, of: Callable[[EngineState], HistogramDelta], least: float) -> Figure:
    return Figure(id, "latency", label, "s", "lower", least, lambda state: quantile_of(of(state), 0.95, state.valid)[0])


def arrivals(state: EngineState) -> Floats:
    """Requests that arrived in each interval: those that finished, and the change of those in the engine."""
    in_flight = state.running_end + state.waiting_end - state.running_start - state.waiting_start
    return np.maximum(0.0, state.finished + in_flight)


def _hits(state: EngineState) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(state.prefix_queries > 0, state.prefix_hits / state.prefix_queries, np.nan)


def _hit_rate(state: EngineState) -> float:
    return _ratio(_valid_sum(state, state.prefix_hits), _valid_sum(state, state.prefix_queries))


def _nothing(state: EngineState) -> Floats:
    return np.full(len(state.t_end), NAN)


def _gpu(name: str) -> Callable[[EngineState], Floats]:
    return lambda state: _nothing(state) if state.gpu is None else np.asarray(getattr(state.gpu, name))


def _host(name: str) -> Callable[[EngineState], Floats]:
    return lambda state: _nothing(state) if state.host is None else np.asarray(getattr(state.host, name))


def _client_ttft(state: EngineState) -> Floats:
    return _nothing(state) if state.client is None else state.client.ttft_mean_s


FIGURES: tuple[Figure, ...] = (
    _rate("arrival_rate", "workload", Text("arrivals", "到达率"), "req/s", "neither", arrivals, 0.05),
    _mean(
        "prompt_tokens",
        "workload",
        Text("prompt length, mean", "平均提示长度"),
        "tokens",
        "neither",
        lambda s: s.prompt_length,
        4,
    ),
    _mean(
        "output_tokens",
        "workload",
        Text("output length, mean", "平均输出长度"),
        "tokens",
        "neither",
        lambda s: s.output_length,
        4,
    ),
    Figure(
        "hit_rate",
        "workload",
        Text("prefix-cache hit rate", "前缀缓存命中率"),
        "ratio",
        "higher",
        0.03,
        _hit_rate,
        _hits,
    ),
    _rate(
        "computed_tokens_rate",
        "workload",
        Text("prompt tokens computed", "实际计算的提示 token"),
        "tok/s",
        "neither",
        lambda s: s.computed_tokens,
        5,
    ),
    _mean("ttft_mean", "latency", Text("TTFT, mean", "TTFT 均值"), "s", "lower", lambda s: s.ttft, 0.01),
    _p95("ttft_p95", Text("TTFT p95", "TTFT p95"), lambda s: s.ttft, 0.01),
    _mean("queue_mean", "latency", Text("time queued, mean", "平均排队时间"), "s", "lower", lambda s: s.queue, 0.005),
    _mean("prefill_mean", "latency", Text("prefill, mean", "平均预填充时间"), "s", "lower", lambda s: s.prefill, 0.005),
    _mean("itl_mean", "latency", Text("ITL, mean", "ITL 均值"), "s", "lower", lambda s: s.itl, 0.0005),
    _p95("itl_p95", Text("ITL p95", "ITL p95"), lambda s: s.itl, 0.0005),
    _mean("e2e_mean", "latency", Text("end to end, mean", "端到端均值"), "s", "lower", lambda s: s.e2e, 0.02),
    _p95("e2e_p95", Text("end to end p95", "端到端 p95"), lambda s: s.e2e, 0.02),
    _rate(
        "output_rate",
        "throughput",
        Text("output tokens", "输出 token"),
        "tok/s",
        "higher",
        lambda s: s.generation_tokens,
        5,
    ),
    _rate(
        "finish_rate",
        "throughput",
        Text("requests finished", "完成的请求"),
        "req/s",
        "higher",
        lambda s: s.finished,
        0.05,
    ),
    _rate("step_rate", "throughput", Text("engine steps", "引擎步数"), "1/s", "neither", lambda s: s.steps, 0.5),
    _gauge(
        "running", "saturation", Text("running, mean", "平均运行数"), "req", "neither", lambda s: s.running_end, 0.5
    ),
    _gauge("waiting", "saturation", Text("waiting, mean", "平均等待数"), "req", "lower", lambda s: s.waiting_end, 0.5),
    _gauge(
        "kv_usage",
        "saturation",
        Text("KV cache in use, mean", "KV 缓存平均占用"),
        "ratio",
        "neither",
        lambda s: s.kv_usage_end,
        0.02,
    ),
    _rate("preemption_rate", "saturation", Text("preemptions", "抢占"), "1/s", "lower", lambda s: s.preemptions, 0.02),
    _rate(
        "rejection_rate",
        "saturation",
        Text("requests refused", "被拒绝的请求"),
        "1/s",
        "lower",
        lambda s: s.rejections,
        0.02,
    ),
    _rate(
        "error_rate",
        "saturation",
        Text("responses with status 5xx", "5xx 响应"),
        "1/s",
        "lower",
        lambda s: s.http_errors,
        0.02,
    ),
    _gauge(
        "api_cores", "host", Text("front end's CPU, cores", "前端 CPU 核数"), "", "neither", lambda s: s.api_cores, 0.05
    ),
    _gauge(
        "engine_cores",
        "host",
        Text("engine loop's CPU, cores", "引擎循环 CPU 核数"),
        "",
        "neither",
        _host("engine_cores"),
        0.05,
    ),
    _gauge(
        "host_busy", "host", Text("host's cores busy", "主机 CPU 占用"), "ratio", "neither", _host("busy_ratio"), 0.03
    ),
    _gauge(
        "run_delay",
        "host",
        Text("ready but not on a CPU, per second", "就绪但未获 CPU 的时间（每秒）"),
        "ratio",
        "lower",
        _host("run_delay_ratio"),
        0.02,
    ),
    _gauge(
        "gpu_util",
        "gpu",
        Text("GPU with any kernel on it", "GPU 有内核在跑的时间"),
        "ratio",
        "neither",
        _gpu("util_ratio"),
        0.03,
    ),
    _gauge("gpu_power", "gpu", Text("GPU power", "GPU 功耗"), "W", "neither", _gpu("power_w"), 10),
    _gauge("gpu_clock", "gpu", Text("SM clock", "SM 时钟"), "Hz", "higher", _gpu("sm_clock_hz"), 2e7),
    _gauge(
        "client_ttft", "client", Text("TTFT at the client, mean", "客户端 TTFT 均值"), "s", "lower", _client_ttft, 0.01
    ),
)
