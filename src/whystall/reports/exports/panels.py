"""What the boards show: panels of figures, with the level that the diagnosis compares them with drawn as a line."""

from __future__ import annotations

import msgspec

from whystall.evidence.thresholds import THRESHOLDS
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.sources.dialects import describe

from .figures import FIGURES, Figure, Queries

INSTANCE = 'instance=~"$instance"'
GPU_HOST = 'instance=~"$gpu_host"'


class Curve(msgspec.Struct, frozen=True):
    """One query of a panel. ``legend`` is Grafana's template."""

    expr: str
    legend: str


class Panel(msgspec.Struct, frozen=True):
    """A time series panel. ``about`` is a quantity of the dialects whose text explains it; ``level`` names a threshold."""

    title: Text
    unit: str
    figures: tuple[str, ...] = ()
    about: str = ""
    level: str = ""
    promise: str = ""  # the field of the SLO whose bound is drawn instead, where it is promised
    stacked: bool = False
    queries: tuple[tuple[str, str], ...] = ()  # (PromQL, legend) that are no figure

    def curves(self, queries: Queries, lang: str) -> list[Curve]:
        """What it draws, of the series that ``queries`` picks."""
        own = [_curve(FIGURES[id], queries, lang) for id in self.figures]
        return own + [Curve(expr, legend) for expr, legend in self.queries]

    def line(self, slo: Slo | None) -> float | None:
        """The level that is drawn; None where there is none."""
        promised = getattr(slo, self.promise) if slo is not None and self.promise else None
        if promised is not None:
            return float(promised)
        return THRESHOLDS[self.level].value if self.level else None

    def explained(self, lang: str) -> str:
        """What the panel shows and why the line is where it is."""
        entry = describe(self.about) if self.about else None
        parts = [entry.text.in_(lang)] if entry else []
        if self.level:
            parts.append(f"{self.level}: {THRESHOLDS[self.level].reason}")
        return "\n\n".join(parts)


def _curve(figure: Figure, queries: Queries, lang: str) -> Curve:
    return Curve(figure.query(queries), f"{figure.title.in_(lang)} {{{{engine}}}}".strip())


def _gpu(name: str) -> tuple[tuple[str, str], ...]:
    return ((f"{name}{{{GPU_HOST}}}", "GPU {{gpu}}"),)


ENGINE_ROWS: tuple[tuple[Text, tuple[Panel, ...]], ...] = (
    (
        Text("Demand and limits", "需求与限制"),
        (
            Panel(Text("Requests", "请求"), "short", ("running", "waiting"), about="num_requests_waiting"),
            Panel(
                Text("KV cache", "KV 缓存"),
                "percentunit",
                ("kv_usage_ratio", "prefix_hit_ratio"),
                about="kv_cache_usage_perc",
                level="kv_wall",
            ),
            Panel(Text("Preemptions", "抢占"), "ops", ("preemptions_per_s",), about="num_preemptions"),
            Panel(
                Text("Refused and failed", "被拒绝与失败"),
                "percentunit",
                ("rejected_ratio", "errors_ratio"),
                about="admission_rejections",
                level="felt_errors",
                promise="errors_ratio",
            ),
        ),
    ),
    (
        Text("Latency", "延迟"),
        (
            Panel(
                Text("Time to first token", "首 token 时间"),
                "s",
                ("ttft_p95_s", "ttft_mean_s", "queue_mean_s"),
                about="time_to_first_token_seconds",
                level="felt_wait",
                promise="ttft_p95_s",
            ),
            Panel(
                Text("Inter-token latency", "token 间延迟"),
                "s",
                ("itl_p95_s", "itl_mean_s"),
                about="inter_token_latency_seconds",
                level="felt_itl",
                promise="itl_p95_s",
            ),
            Panel(
                Text("Whole requests", "整个请求"),
                "s",
                ("e2e_p95_s",),
                about="e2e_request_latency_seconds",
                promise="e2e_p95_s",
            ),
            Panel(
                Text("Where a request's time goes", "请求时间的去向"),
                "s",
                ("queue_mean_s", "prefill_mean_s", "decode_mean_s"),
                about="request_queue_time_seconds",
                stacked=True,
            ),
        ),
    ),
    (
        Text("Work", "工作量"),
        (
            Panel(
                Text("Tokens a second", "每秒 token"),
                "short",
                ("prompt_tokens_per_s", "generation_tokens_per_s"),
                about="prompt_tokens",
            ),
            Panel(Text("Requests a second", "每秒请求"), "reqps", ("requests_per_s",), about="request_success"),
            Panel(
                Text("Lengths", "长度"),
                "short",
                ("prompt_tokens_mean", "output_tokens_mean"),
                about="request_prompt_tokens",
            ),
            Panel(Text("Tokens a step", "每步 token"), "short", ("step_tokens_mean",), about="iteration_tokens_total"),
        ),
    ),
    (
        Text("Host and GPU", "主机与 GPU"),
        (
            Panel(
                Text("API process: cores", "API 进程：核"),
                "short",
                ("api_cores",),
                about="process_cpu_seconds",
                level="core_full",
            ),
            Panel(
                Text("API process: memory", "API 进程：内存"),
                "bytes",
                ("api_memory_bytes",),
                about="process_resident_memory_bytes",
            ),
            Panel(Text("GPU use", "GPU 利用率"), "percent", queries=_gpu("DCGM_FI_DEV_GPU_UTIL")),
            Panel(Text("GPU clock, MHz", "GPU 时钟，MHz"), "short", queries=_gpu("DCGM_FI_DEV_SM_CLOCK")),
        ),
    ),
)
FLEET_PANELS = (
    Panel(Text("Waiting", "等待"), "short", ("waiting",), about="num_requests_waiting", level="queue_grown"),
    Panel(Text("KV blocks in use", "KV 块使用率"), "percentunit", ("kv_usage_ratio",), level="kv_wall"),
    Panel(Text("TTFT p95", "TTFT p95"), "s", ("ttft_p95_s",), promise="ttft_p95_s"),
    Panel(Text("ITL p95", "ITL p95"), "s", ("itl_p95_s",), promise="itl_p95_s"),
    Panel(Text("Tokens generated a second", "每秒生成的 token"), "short", ("generation_tokens_per_s",)),
    Panel(Text("Requests that failed", "失败的请求占比"), "percentunit", ("errors_ratio",), level="felt_errors"),
)
# The columns of the table of engines.
FLEET_COLUMNS = (
    "running",
    "waiting",
    "kv_usage_ratio",
    "ttft_p95_s",
    "itl_p95_s",
    "queue_mean_s",
    "generation_tokens_per_s",
    "requests_per_s",
)
