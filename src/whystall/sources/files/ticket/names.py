"""What a name in a ticket means: a quantity, a statistic of it, its unit, and the words that say which case it is of.

``ttft_p99_before_ms`` is the quantity ``ttft``, the statistic ``p99``, milliseconds, of the case ``before``.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from .figure import SECONDS

_STATISTICS = {"mean": "mean", "avg": "mean", "average": "mean", "median": "p50", "max": "max", "min": "min"}
_STATISTICS |= {f"p{n}": f"p{n}" for n in (50, 90, 95, 99)}
_TOKENS = r"(?:toks?|tokens)"
_SPEED = rf"(?:(?:token_)?throughput_(?:tps|tok_s)|tps|tput|{_TOKENS}_s|toks|{_TOKENS}_per_s(?:ec(?:ond)?)?|token_throughput)"
_PER_S = r"(?:_s|_per_s|_per_sec|_per_second)"
_UNIT = r"(?:us|ms|s|sec|seconds|min)"
# The first that fits; "_" stands before, between and after words. What is left over are statistics, units and cases.
_RULES: tuple[tuple[str, str], ...] = (
    ("output_spread", r"_(?:osl|output|output_len)_(?:rr|range_ratio|std|cv)_"),
    ("prompt_spread", r"_(?:isl|input|prompt|input_len)_(?:rr|range_ratio|std|cv)_"),
    ("queue", rf"_queue_time_|_time_in_queue_|_queued?_(?={_UNIT}_)|_wait(?:ing)?(?:_time)?_(?={_UNIT}_)"),
    ("prefill", rf"_prefill_time_|_prefill_(?={_UNIT}_)"),
    ("rate", rf"_(?:requests|reqs|req){_PER_S}_|_request_throughput_"),
    ("completed", rf"_(?:finished|completed|completions)(?!{_PER_S}_)_"),
    ("rate", rf"_(?:finished|completed|completions){_PER_S}_"),
    ("preemption_rate", rf"_(?:num_)?preemptions?{_PER_S}_|_preemption_rate_"),
    ("preemptions", r"_(?:num_)?preempted_"),
    ("gpu_util", r"_sm_(?:active|util)_"),
    ("generation_tps", r"_output_throughput_"),
    ("accept_ratio", r"_accept(?:ance)?(?:_rate|_ratio)?_(?!length|len)"),
    ("power_capped", r"_power_cap_active_|_throttle_(?:pwr_)?pct_"),
    ("total_tps", rf"_total_{_SPEED}_"),
    ("prompt_tps", rf"_(?:avg_)?(?:prompt|prefill|input)_{_SPEED}_"),
    ("generation_tps", rf"_(?:avg_)?(?:generation|gen|decode|output|out)_{_SPEED}_"),
    ("generation_tps", rf"_{_SPEED}_"),
    ("hit_ratio", r"_(?:gpu_)?prefix_cache_hit(?:_rate|_ratio)?_|_(?:cache_)?hit(?:_rate|_ratio)_|_cache_hit_"),
    ("external_hit_ratio", r"_external(?:_prefix)?(?:_cache)?_hit(?:_rate)?_"),
    ("kv_tokens", r"_(?:kv_tokens(?:_available)?|kv_cache_tokens|max_tokens_in_paged_kv_cache)_"),
    ("kv_at_preemption", r"_kv_at_preempt(?:ion)?_"),
    ("cpu_kv_ratio", r"_cpu_kv(?:_cache)?(?:_usage)?_"),
    ("kv_usage", r"_(?:kv|gpu)_cache(?:_usage)?(?:_perc)?_(?!tokens)|_kv(?:_usage)?_pct_|_token_usage_|_kv_usage_"),
    ("preemptions_ever", r"_(?:num_)?preemptions?_(?:cum|cumulative|total)_"),
    ("preemptions", r"_(?:num_)?preemptions?(?:_count)?_"),
    ("swapped", r"_(?:num_)?(?:requests_)?swapped_"),
    ("running", r"_(?:num_)?(?:requests_|reqs_)?running(?:_reqs|_requests)?_|_scheduled_"),
    (
        "waiting",
        r"_(?:num_)?(?:requests_|reqs_)?waiting(?:_reqs|_requests)?_|_(?:num_)?queued?(?:_(?:reqs|depth|size|len))?_",
    ),
    ("waiting", r"_pending_"),
    (
        "in_flight",
        r"_(?:peak_|max_)?(?:concurrency|concurrent|in_flight|inflight)_|_active_|_(?:users|clients|streams|connections)_",
    ),
    ("offered_rate", r"_(?:request|arrival|offered)_rate_|_(?:offered|target)_(?:rps|qps)_|_rate_"),
    ("rate", r"_(?:achieved_|peak_)?(?:rps|qps|req_s|reqs_s|req_per_s|requests_per_s)_"),
    ("ttft", r"_(?:ttft|ttfa|ttfp|first_token(?:_latency)?)_"),
    ("tpot", r"_(?:tpot|time_per_output_token)_"),
    ("itl", r"_(?:itl|inter_token(?:_latency)?|ms_per_(?:step|token)|token_gap|(?:step|iteration)(?:_time)?)_"),
    ("gc", r"_gc(?:_collect|_pause|_took|_time)?_"),
    ("idle_gap", r"_idle_gap_"),
    ("stall", r"_(?:stall|stalled|stuck|freeze|frozen|pause|block|blocked|hang)(?:_time|_duration)?_"),
    ("e2e", r"_(?:e2el?|latency|request_latency|response_time)_"),
    ("duration", r"_(?:duration|elapsed|wall|wall_time)_"),
    ("iteration_tokens", r"_iteration_tokens(?:_total)?_"),
    ("prompt_total", r"_(?:prompt|input)_tokens_total_|_total_(?:input|prompt)_tokens_"),
    ("output_total", r"_output_tokens_total_|_total_(?:output|generated)_tokens_"),
    ("prompt", r"_(?:prompt|input)_(?:tokens|len|length)_|_isl_|_(?:ctx|context)(?:_len|_length|_tokens)?_|_len_"),
    ("output", r"_(?:output|completion|generated)_(?:tokens|len|length)_|_osl_|_max_tokens_"),
    ("requests", r"_(?:num_)?(?:prompts|requests)_"),
    ("success_ratio", r"_success(?:_rate|_ratio)?_"),
    ("fail_ratio", r"_(?:fail|failure|errors?)(?:_rate|_ratio)?_pct_"),
    ("errors", r"_(?:errors|failed|rejected|refused|timeouts)_"),
    ("accepted", r"_accepted(?:_tokens)?_"),
    ("drafted", r"_drafted(?:_tokens)?_"),
    ("gpu_util", r"_gpu_util(?:ization|isation)?_"),
    ("power_cap", r"_(?:power_)?(?:cap|limit)_w_|_power_(?:cap|limit)_"),
    ("power", r"_power(?:_w|_draw)?_|_actual_w_"),
    ("mem_clock", r"_mem(?:ory)?_(?:clock_)?mhz_|_mem_clock_"),
    ("clock", r"_(?:sm_|gpu_)?clocks?_|_sm_(?:clock_)?mhz_"),
    ("temperature", r"_temp(?:erature)?_"),
    ("xid", r"_xid\d{0,3}(?:_count)?_"),
    ("ecc", r"_(?:sbe|dbe|ecc)(?:_count|_errors)?_"),
    ("allocated", r"_alloc(?:ated|ation)?_(?:mib|gib|mb|gb)(?:_per_rank)?_"),
    ("free_memory", r"_free_(?:mib|gib|mb|gb)(?:_per_rank)?_"),
    ("rss", r"_rss_"),
    ("throttled_cpu", r"_(?:cfs_)?throttled(?:_periods)?(?:_ratio|_share)?_|_cfs_throttle_"),
    ("cores", r"_cpu_cores(?:_busy|_used)?_"),
    ("seats", r"_(?:max_num_seqs|seqs|slots|parallel)_"),
    ("budget", r"_(?:max_num_batched_tokens|budget)_"),
    ("batch", r"_(?:batch(?:_size)?|bs)_"),
    ("served", r"_served_"),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _RULES)
_TIMES = frozenset(("ttft", "itl", "tpot", "queue", "prefill", "gc", "stall", "idle_gap", "e2e", "duration"))
_RATIOS = frozenset(
    ("hit_ratio", "external_hit_ratio", "kv_usage", "kv_at_preemption", "cpu_kv_ratio", "gpu_util", "success_ratio")
)
_RATIOS |= {"fail_ratio", "throttled_cpu", "power_capped"}
_MEMORY = {"mib": 2.0**20, "mb": 1e6, "gib": 2.0**30, "gb": 1e9}
_BYTES = frozenset(("allocated", "free_memory", "rss"))
_PLAIN_UNITS = frozenset(
    ("pct", "ratio", "w", "mhz", "c", "tps", "rps", "qps", "per", "rank", "us", *_MEMORY, *SECONDS)
)
_COUNTS = {"single": 1, "one": 1, "two": 2, "three": 3, "four": 4}
UNSAID = 0.0  # a time whose name has no unit: its text must have one
_CONCURRENCY = re.compile(r"c(\d{1,5})\Z")


class Name(msgspec.Struct, frozen=True):
    """A name taken apart. ``quantity`` is "" where it names none; ``scale`` brings the value to SI units."""

    quantity: str
    statistic: str
    scale: float
    words: tuple[str, ...]
    in_flight: int | None = None  # a concurrency that the name itself says: c16, single


@lru_cache(maxsize=4096)
def name_of(key: str) -> Name:
    """What the field name ``key`` means."""
    text = "_" + re.sub(r"[^a-z0-9]+", "_", key.lower()[:80]).strip("_") + "_"
    quantity, rest = _quantity(text)
    words = [word for word in rest.split("_") if word]
    statistic = next((_STATISTICS[word] for word in words if word in _STATISTICS), "")
    if not quantity and statistic not in ("", "min") and {"ms", "s"} & set(words):
        quantity = "e2e"  # p99_ms of a request, with nothing more said
    if statistic == "min" and quantity in _TIMES:
        statistic = ""  # minutes
    if "target" in words:
        quantity = ""  # what was wished for
    scale = _scale(quantity, text, words)
    cases = [word for word in words if word not in _STATISTICS and word not in _PLAIN_UNITS] if quantity else words
    counts = [_COUNTS[word] for word in cases if word in _COUNTS]
    counts += [int(match[1]) for word in cases if (match := _CONCURRENCY.match(word))]
    kept = tuple(word for word in cases if word not in _COUNTS and not _CONCURRENCY.match(word))
    return Name(quantity, statistic, scale, kept, counts[0] if counts else None)


def _quantity(text: str) -> tuple[str, str]:
    for name, pattern in _COMPILED:
        match = pattern.search(text)
        if match is not None:
            return name, text[: match.start()] + "_" + text[match.end() :]
    return "", text


def _scale(quantity: str, text: str, words: list[str]) -> float:
    units = [word for word in text.split("_") if word]
    if quantity in _TIMES:
        return next((SECONDS[word] for word in reversed(units) if word in SECONDS), UNSAID)
    if quantity in _BYTES:
        return next((_MEMORY[word] for word in units if word in _MEMORY), 1.0)
    return 0.01 if quantity in _RATIOS and ("pct" in units or "percent" in units) else 1.0
