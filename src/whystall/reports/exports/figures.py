"""What a rule or a panel is about: figures of an engine as PromQL, in every spelling that an engine has had."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from whystall.model.text import Text
from whystall.sources.dialects import describe
from whystall.sources.dialects.entry import Part
from whystall.sources.dialects.page_names import Style, page_names

DEFAULT_WINDOW = "1m"  # four scrapes at 15 s: a rate needs two, and one may be lost


class Queries(msgspec.Struct, frozen=True):
    """Writes PromQL over ``window`` for the series that ``selector`` (the inside of braces) picks."""

    style: Style = "vllm"
    window: str = DEFAULT_WINDOW
    selector: str = ""

    def gauge(self, name: str, labels: str = "") -> str:
        return self._either(name, "value", labels, "{}")

    def rate(self, name: str, part: Part = "value", labels: str = "") -> str:
        return self._either(name, part, labels, f"rate({{}}[{self.window}])")

    def mean(self, name: str) -> str:
        """Mean of a histogram's values; no value where nothing was observed."""
        return f"({self.rate(name, 'sum')}) / (({self.rate(name, 'count')}) > 0)"

    def quantile(self, share: float, name: str) -> str:
        return f"histogram_quantile({share:g}, {self.rate(name, 'bucket')})"

    def ratio(self, part: str, whole: str) -> str:
        """A share of two counters; no value where there is no whole, because 0/0 would spoil every mean over time."""
        return f"({self.rate(part)}) / (({self.rate(whole)}) > 0)"

    def without(self, label: str, query: str) -> str:
        return f"sum without ({label}) ({query})"

    def _either(self, name: str, part: Part, labels: str, form: str) -> str:
        entry = describe(name)
        if entry is None:
            raise KeyError(f"no dialect has {name}")
        inside = ",".join(text for text in (self.selector, labels) if text)
        braces = f"{{{inside}}}" if inside else ""
        return " or ".join(form.format(raw + braces) for raw in page_names(entry, part, self.style))


class Figure(msgspec.Struct, frozen=True):
    """A figure of one engine: ``id`` names its recording rule, ``unit`` is Grafana's word for the unit."""

    id: str
    title: Text
    unit: str
    query: Callable[[Queries], str]


def _rejected(q: Queries) -> str:
    refused = q.without("reason", q.rate("admission_rejections"))
    served = q.without("engine, finished_reason", q.rate("request_success"))
    return f"({refused}) / (({refused}) + ({served}))"


def _errors(q: Queries) -> str:
    failed = q.without("finished_reason", q.rate("request_success", labels='finished_reason="error"'))
    return f"({failed}) / ({q.without('finished_reason', q.rate('request_success'))})"


def _figure(id: str, en: str, zh: str, unit: str, query: Callable[[Queries], str]) -> Figure:
    return Figure(id, Text(en, zh), unit, query)


_TTFT, _ITL, _E2E = "time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"
_TABLE = (
    _figure("running", "running", "运行", "short", lambda q: q.gauge("num_requests_running")),
    _figure("waiting", "waiting", "等待", "short", lambda q: q.gauge("num_requests_waiting")),
    _figure(
        "kv_usage_ratio", "KV blocks in use", "KV 块使用率", "percentunit", lambda q: q.gauge("kv_cache_usage_perc")
    ),
    _figure(
        "prefix_hit_ratio",
        "prefix-cache hits",
        "前缀缓存命中率",
        "percentunit",
        lambda q: q.ratio("prefix_cache_hits", "prefix_cache_queries"),
    ),
    _figure("preemptions_per_s", "preemptions", "抢占", "ops", lambda q: q.rate("num_preemptions")),
    _figure("prompt_tokens_per_s", "prompt tokens", "提示 token", "short", lambda q: q.rate("prompt_tokens")),
    _figure(
        "generation_tokens_per_s", "tokens generated", "生成的 token", "short", lambda q: q.rate("generation_tokens")
    ),
    _figure(
        "requests_per_s",
        "requests finished",
        "完成的请求",
        "reqps",
        lambda q: q.without("finished_reason", q.rate("request_success")),
    ),
    _figure("errors_ratio", "requests that failed", "失败的请求占比", "percentunit", _errors),
    _figure("rejected_ratio", "requests refused", "被拒绝的请求占比", "percentunit", _rejected),
    _figure("ttft_mean_s", "mean TTFT", "平均 TTFT", "s", lambda q: q.mean(_TTFT)),
    _figure("ttft_p95_s", "TTFT p95", "TTFT p95", "s", lambda q: q.quantile(0.95, _TTFT)),
    _figure("itl_mean_s", "mean ITL", "平均 ITL", "s", lambda q: q.mean(_ITL)),
    _figure("itl_p95_s", "ITL p95", "ITL p95", "s", lambda q: q.quantile(0.95, _ITL)),
    _figure("e2e_p95_s", "E2E p95", "E2E p95", "s", lambda q: q.quantile(0.95, _E2E)),
    _figure("queue_mean_s", "mean queue time", "平均排队时间", "s", lambda q: q.mean("request_queue_time_seconds")),
    _figure(
        "prefill_mean_s", "mean prefill time", "平均预填充时间", "s", lambda q: q.mean("request_prefill_time_seconds")
    ),
    _figure("decode_mean_s", "mean decode time", "平均解码时间", "s", lambda q: q.mean("request_decode_time_seconds")),
    _figure("prompt_tokens_mean", "mean prompt", "平均提示长度", "short", lambda q: q.mean("request_prompt_tokens")),
    _figure(
        "output_tokens_mean", "mean output", "平均输出长度", "short", lambda q: q.mean("request_generation_tokens")
    ),
    _figure("step_tokens_mean", "tokens a step", "每步 token", "short", lambda q: q.mean("iteration_tokens_total")),
    _figure(
        "api_cores", "cores of the API process", "API 进程占用的核", "short", lambda q: q.rate("process_cpu_seconds")
    ),
    _figure(
        "api_memory_bytes",
        "memory of the API process",
        "API 进程的内存",
        "bytes",
        lambda q: q.gauge("process_resident_memory_bytes"),
    ),
    _figure(
        "draft_accepted_ratio",
        "drafted tokens accepted",
        "草稿接受率",
        "percentunit",
        lambda q: q.ratio("spec_decode_num_accepted_tokens", "spec_decode_num_draft_tokens"),
    ),
)
FIGURES = {figure.id: figure for figure in _TABLE}


def recorded(id: str) -> str:
    """The series that the recording rule of a figure makes. Raises KeyError for a figure that there is not."""
    return f"whystall:{FIGURES[id].id}"
