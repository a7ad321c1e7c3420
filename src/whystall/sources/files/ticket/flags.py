"""Launch flags as people write them to a command line: ``TP=2``, ``max_num_seqs 6``, another engine's name for a knob."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whystall.sources.dialects.vllm_flags import SHORT, SWITCHES

# Other engines' and people's words for vLLM's flags.
_SAME = {
    "parallel": "max_num_seqs",  # llama.cpp: slots
    "n_parallel": "max_num_seqs",
    "triton_max_batch_size": "max_num_seqs",
    "max_batch_size": "max_num_seqs",
    "max_running_requests": "max_num_seqs",  # SGLang
    "max_concurrent_requests": "max_num_seqs",  # TGI
    "chunked_prefill_size": "max_num_batched_tokens",  # SGLang
    "max_batch_prefill_tokens": "max_num_batched_tokens",  # TGI
    "context_length": "max_model_len",
    "tp": "tensor_parallel_size",
    "tp_size": "tensor_parallel_size",
    "dp": "data_parallel_size",
    "dp_size": "data_parallel_size",
    "pp": "pipeline_parallel_size",
    "pp_size": "pipeline_parallel_size",
    "disable_cuda_graph": "enforce_eager",
    "max_cudagraph_capture_size": "max_cudagraph_capture_size",
    "cuda_graph_max_bs": "max_cudagraph_capture_size",
}
_POOL = ("max_tokens_in_paged_kv_cache", "max_total_tokens_in_cache")  # TensorRT-LLM: KV tokens
_WORDS = re.compile(r"\s*(-{0,2})([A-Za-z][A-Za-z0-9_.-]{0,60})(?:\s*=\s*|\s+|\Z)(.{0,200})", re.DOTALL)
_VALUE = re.compile(r"[A-Za-z0-9_./:{\"'-]{1,200}")
_DRAFTS = re.compile(r"(?:num_speculative_tokens|k)\s*[=: ]\s*(\d{1,3})")


def command_line(flags: Iterable[str]) -> tuple[str, ...]:
    """The flags that are readable as such, spelled as vLLM's; prose is left out. () where there is none."""
    found: list[str] = []
    for flag in flags:
        found += _flag(flag)
    return ("vllm", "serve", *found) if found else ()


def kv_tokens(flags: Iterable[str]) -> float | None:
    """Tokens of the KV pool where a flag of another engine states them."""
    for flag in flags:
        words = _WORDS.match(flag)
        if words and words[2].lower().replace("-", "_") in _POOL and words[3][:12].split(" ")[0].isdigit():
            return float(words[3][:12].split(" ")[0])
    return None


def _flag(text: str) -> list[str]:
    drafts = _DRAFTS.search(text)
    if drafts and ("spec" in text or "ngram" in text or "eagle" in text):
        return ["--speculative-config", f'{{"num_speculative_tokens": {drafts[1]}}}']
    words = _WORDS.match(text)
    if words is None:
        return []
    dashes, bare, rest = words[1], words[2].replace("-", "_"), words[3]
    name = _SAME.get(bare.lower(), SHORT.get(bare, bare.lower()) if dashes == "-" else bare.lower())
    if name.removeprefix("no_") in SWITCHES:
        return ["--" + name.replace("_", "-")]
    value = _VALUE.match(rest)
    known = dashes or "_" in name
    return ["--" + name.replace("_", "-"), value[0]] if known and value and (dashes or value[0][0].isdigit()) else []
