"""When an alert speaks: a cause's picture as PromQL over recorded figures, at the levels that the diagnosis has.

Only causes whose picture one page of one server can show have a condition; what needs steps, logs, GPUs' ranks or a client
is left to the diagnosis, to which the alerts on symptoms lead.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from whystall.evidence.thresholds import level
from whystall.model.slo import Slo
from whystall.model.text import Text

from .figures import recorded

Severity = Literal["page", "ticket", "info"]
_NAME = re.compile(r"([@#])(\w+)")


class Condition(msgspec.Struct, frozen=True):
    """``expr`` has ``@figure`` for a recorded series and ``#name`` for a level of ``evidence/thresholds.py``.

    ``value`` is what the expression's value is, for the summary; "" where it says nothing to a reader. ``per`` is what
    the alert is about where that is no engine.
    """

    id: str
    expr: str
    for_: str
    severity: Severity
    value: str = ""

    def query(self) -> str:
        """The PromQL. Raises KeyError for a figure or a level that there is not."""
        return " ".join(_NAME.sub(_filled, self.expr).split())


def _filled(found: re.Match[str]) -> str:
    sort, name = found.groups()
    return recorded(name) if sort == "@" else f"{level(name):g}"


WAITS = "(@queue_mean_s > #felt_wait or @waiting > #queue_grown)"
FELT = f"({WAITS} or @ttft_mean_s > #felt_wait or @itl_mean_s > #felt_itl)"
_FULL = "(avg_over_time(@kv_usage_ratio[2m]) >= #kv_wall or @preemptions_per_s > 0)"
# The last hour is what is usual; ten minutes back, so that an incident does not at once become its own measure.
_USUAL = "avg_over_time({}[1h] offset 10m)"
_NOW = "avg_over_time({}[5m])"


def _grown(figure: str) -> str:
    return f"{_NOW.format(figure)} / {_USUAL.format(figure)} > #shift and {FELT}"


_LOAD = "(avg_over_time(@running[3m]) + avg_over_time(@waiting[3m]))"
_TIMES = "{{ $value | humanize }}x"
# Requests a second that come; the last hour is what is usual.
_ARRIVES = "(avg_over_time(@requests_per_s{0}{1}) + deriv(@running{0}{1}) + deriv(@waiting{0}{1}))"
_ARRIVED = _ARRIVES.format("[1h]", " offset 10m")


def _most(expr: str) -> str:
    return f"max by (job, model_name) ({expr})"


def _all(expr: str) -> str:
    return f"sum by (job, model_name) ({expr})"


# Causes of the catalogue.
CAUSES = (
    Condition("kv_capacity", f"{_FULL} and {WAITS}", "2m", "ticket"),
    # Running stands still while requests wait and blocks are there: what holds it is a count. The gauge is taken after
    # finished requests left, so it reads one short now and then; under eight seats that cannot be told from chance.
    Condition(
        "seat_cap",
        "max_over_time(@running[3m]) >= 4 * #idle_running and (avg_over_time(@running[3m]) >= max_over_time(@running[3m]) - 1"
        " or avg_over_time(@running[3m]) / max_over_time(@running[3m]) >= #seats_full)"
        f" and {WAITS} unless {_FULL}",
        "1m",
        "ticket",
    ),
    Condition("queue_limit", "@rejected_ratio > #felt_errors", "1m", "page", "{{ $value | humanizePercentage }}"),
    Condition("longer_prompts", _grown("@prompt_tokens_mean"), "5m", "ticket", "{{ $value | humanize }}x"),
    Condition("longer_outputs", _grown("@output_tokens_mean"), "5m", "ticket", "{{ $value | humanize }}x"),
    Condition(
        "prefix_cache_loss",
        f"{_USUAL.format('@prefix_hit_ratio')} - {_NOW.format('@prefix_hit_ratio')} > #hit_loss and {FELT}",
        "5m",
        "ticket",
        "{{ $value | humanizePercentage }}",
    ),
    Condition(
        "frontend_cpu",
        f"@api_cores >= #core_full and on (job, instance) {FELT}",
        "2m",
        "ticket",
        "{{ $value | humanize }}",
    ),
    Condition(
        "spec_decode_inefficient",
        "@draft_accepted_ratio < #draft_cost",
        "10m",
        "ticket",
        "{{ $value | humanizePercentage }}",
    ),
    # What comes is what ends and what is added to those inside; longer prompts or outputs leave it as it was.
    Condition("overload", f"{_ARRIVES.format('[5m]', '')} / {_ARRIVED} > #shift and {FELT}", "3m", "ticket", _TIMES),
    # The measure of the diagnosis: one request more on both sides, because idle engines divide by nothing. What is felt at
    # the loaded one is felt against the others too, before it is felt by itself.
    Condition(
        "replica_imbalance",
        f"({_most(_LOAD)} + 1) / (({_all(_LOAD)} - {_most(_LOAD)}) / (count by (job, model_name) ({_LOAD}) - 1) + 1)"
        f" > 2 * #shift and ({_most('@itl_mean_s')} / min by (job, model_name) (@itl_mean_s) > #slow_factor"
        f" or {_most('@itl_mean_s')} > #felt_itl or {_most('@ttft_mean_s')} > #felt_wait"
        f" or {_most('@queue_mean_s')} > #felt_wait)",
        "3m",
        "ticket",
        _TIMES,
    ),
    # Requests run and no token comes: the longest healthy step is shorter than the rate's window.
    Condition(
        "engine_hang", "@running > 0 and @generation_tokens_per_s == 0 and @prompt_tokens_per_s == 0", "30s", "page"
    ),
    Condition(
        "engine_dead",
        "up == 0 and on (job, instance) count by (job, instance) (last_over_time(@running[1h]))",
        "30s",
        "page",
    ),
    Condition(
        "gpu_throttle",
        "DCGM_FI_DEV_SM_CLOCK / max_over_time(DCGM_FI_DEV_SM_CLOCK[1d]) < #clock_low"
        " and DCGM_FI_DEV_GPU_UTIL > 100 * #gpu_idle",
        "5m",
        "ticket",
        "{{ $value | humanizePercentage }}",
    ),
    Condition(
        "gpu_fault",
        "DCGM_FI_DEV_XID_ERRORS > 0 and changes(DCGM_FI_DEV_XID_ERRORS[10m]) > 0",
        "0s",
        "page",
        "Xid {{ $value }}",
    ),
    Condition(
        "low_demand",
        "avg_over_time(@running[1h]) < #idle_running and max_over_time(@waiting[1h]) < 1",
        "1h",
        "info",
        "{{ $value | humanize }}",
    ),
)


class Symptom(msgspec.Struct, frozen=True):
    """What users feel, whatever the cause."""

    condition: Condition
    title: Text


def symptoms(slo: Slo | None) -> tuple[Symptom, ...]:
    """Alerts on what is felt: at the bounds of the SLO where there is one, else at the levels that people feel."""
    queue = Condition("queue", WAITS, "2m", "ticket", "{{ $value | humanize }}")
    if slo is None:
        slow = Condition("slow_tokens", "@itl_mean_s > #felt_itl", "5m", "ticket", "{{ $value | humanizeDuration }}")
        errors = Condition(
            "errors", "@errors_ratio > #felt_errors", "2m", "ticket", "{{ $value | humanizePercentage }}"
        )
        return (Symptom(queue, _QUEUE), Symptom(slow, _ITL), Symptom(errors, _ERRORS))
    bounds = (
        ("slow_first_token", "ttft_p95_s", slo.ttft_p95_s, _TTFT),
        ("slow_tokens", "itl_p95_s", slo.itl_p95_s, _ITL),
        ("slow_requests", "e2e_p95_s", slo.e2e_p95_s, _E2E),
        ("errors", "errors_ratio", slo.errors_ratio, _ERRORS),
    )
    return tuple(
        Symptom(_promise(id, figure, bound), title) for id, figure, bound, title in bounds if bound is not None
    )


def _promise(id: str, figure: str, bound: float) -> Condition:
    shown = "humanizePercentage" if figure == "errors_ratio" else "humanizeDuration"
    return Condition(id, f"@{figure} > {bound:.12g}", "2m", "page", f"{{{{ $value | {shown} }}}}")


_QUEUE = Text("Requests wait before they run", "请求在运行前排队")
_TTFT = Text("The first token comes late", "首 token 迟到")
_ITL = Text("Tokens come slowly", "token 输出缓慢")
_E2E = Text("Requests take long", "请求耗时过长")
_ERRORS = Text("Requests fail", "请求失败")

# What `whystall watch` says on its own page.
WATCHED = (
    Symptom(Condition("incident", "whystall_incident == 1", "0s", "page"), Text("Incident: {cause}", "事件：{cause}")),
    Symptom(
        Condition("watch_blind", "whystall_up == 0", "2m", "ticket"),
        Text("whystall watch cannot read the server", "whystall watch 读不到服务器"),
    ),
    Symptom(
        Condition("watch_late", "whystall_loop_lag_seconds > 1", "5m", "ticket", "{{ $value | humanizeDuration }}"),
        Text("whystall watch gets too little CPU", "whystall watch 的 CPU 不足"),
    ),
    Symptom(
        Condition("watch_down", 'up{job="whystall"} == 0', "2m", "ticket"),
        Text("whystall watch does not answer", "whystall watch 没有应答"),
    ),
)
