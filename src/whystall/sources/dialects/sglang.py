"""SGLang's metric names: which of our quantities each stands for.

Names as SGLang's ``srt`` metrics collector registers them (0.4 to 0.5); a value's meaning is the same unless said here.
"""

from __future__ import annotations

PREFIX = "sglang:"
# Without the ending (``_total``, ``_bucket`` …), by our name.
NAMES: dict[str, str] = {
    "num_running_reqs": "num_requests_running",
    "num_queue_reqs": "num_requests_waiting",
    "token_usage": "kv_cache_usage_perc",  # tokens held of those that fit: the share of the pool
    "prompt_tokens": "prompt_tokens",
    "generation_tokens": "generation_tokens",
    "cached_tokens": "prompt_tokens_cached",
    "num_requests": "request_success",
    "num_retracted_requests": "num_preemptions",  # not num_retracted_reqs: a gauge of the last batch
    "time_to_first_token_seconds": "time_to_first_token_seconds",
    "inter_token_latency_seconds": "inter_token_latency_seconds",
    "e2e_request_latency_seconds": "e2e_request_latency_seconds",
    "queue_time_seconds": "request_queue_time_seconds",
    "prompt_tokens_histogram": "request_prompt_tokens",
    "generation_tokens_histogram": "request_generation_tokens",
}
# Where both stand on a page, only the name above counts.
OLDER: dict[str, str] = {"time_per_output_token_seconds": "inter_token_latency_seconds"}
