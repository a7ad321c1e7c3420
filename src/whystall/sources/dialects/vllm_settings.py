"""Where vLLM's configuration stands in ``/server_info`` and in its start-up lines, by the name we give it."""

from __future__ import annotations

import re

# Fields of the JSON form of /server_info, "section.field".
SERVER_INFO = {
    "model_config.model": "model",
    "model_config.dtype": "dtype",
    "model_config.max_model_len": "max_model_len",
    "model_config.quantization": "quantization",
    "model_config.enforce_eager": "enforce_eager",
    "cache_config.block_size": "block_size",
    "cache_config.gpu_memory_utilization": "gpu_memory_utilization",
    "cache_config.cache_dtype": "kv_cache_dtype",
    "cache_config.enable_prefix_caching": "enable_prefix_caching",
    "cache_config.num_gpu_blocks": "num_gpu_blocks",
    "cache_config.kv_cache_size_tokens": "kv_cache_size_tokens",
    "parallel_config.tensor_parallel_size": "tensor_parallel_size",
    "parallel_config.pipeline_parallel_size": "pipeline_parallel_size",
    "parallel_config.data_parallel_size": "data_parallel_size",
    "parallel_config._api_process_count": "api_server_count",
    "scheduler_config.max_num_batched_tokens": "max_num_batched_tokens",
    "scheduler_config.max_num_scheduled_tokens": "max_num_scheduled_tokens",
    "scheduler_config.max_num_seqs": "max_num_seqs",
    "scheduler_config.max_num_active_seqs": "max_num_active_seqs",
    "scheduler_config.long_prefill_token_threshold": "long_prefill_token_threshold",
    "scheduler_config.max_num_queued_reqs": "max_num_queued_reqs",
    "scheduler_config.max_num_queued_tokens": "max_num_queued_tokens",
    "scheduler_config.enable_chunked_prefill": "enable_chunked_prefill",
    "scheduler_config.chunked_prefill_enabled": "enable_chunked_prefill",
    "scheduler_config.policy": "scheduling_policy",
    "scheduler_config.async_scheduling": "async_scheduling",
    "device_config.device": "device",
    "device_config.device_type": "device",
    "attention_config.backend": "attention_backend",
    "compilation_config.cudagraph_capture_sizes": "cudagraph_capture_sizes",
    "compilation_config.max_cudagraph_capture_size": "max_cudagraph_capture_size",
    "profiler_config.profiler": "profiler",
    "lora_config": "lora_config",
    "speculative_config": "speculative_config",
}

# Fields of the text form, of the line "Initializing a V1 LLM engine", and of "non-default args", where another name.
TEXT = {
    "device_config.device": "device",
    "compilation_config.cudagraph_capture_sizes": "cudagraph_capture_sizes",
    "compilation_config.max_cudagraph_capture_size": "max_cudagraph_capture_size",
    "compilation_config.max_capture_size": "max_cudagraph_capture_size",
    "profiler_config.profiler": "profiler",
    "attention_config.backend": "attention_backend",
}

BUDGET = "compilation_config.compile_ranges_endpoints"

# Labels of vllm:cache_config_info.
CACHE_LABELS = {
    "block_size": "block_size",
    "num_gpu_blocks": "num_gpu_blocks",
    "num_gpu_blocks_override": "num_gpu_blocks_override",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "enable_prefix_caching": "enable_prefix_caching",
    "cache_dtype": "kv_cache_dtype",
    "kv_cache_size_tokens": "kv_cache_size_tokens",
}

# Limits by their published name: the setting they come from.
LIMITS = {
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_active_seqs": "max_num_active_seqs",
    "max_num_scheduled_tokens": "max_num_scheduled_tokens",
    "num_gpu_blocks": "num_gpu_blocks",
    "num_gpu_blocks_override": "num_gpu_blocks_override",
    "block_size": "block_size",
    "max_model_len": "max_model_len",
    "max_num_queued_reqs": "max_num_queued_reqs",
    "max_num_queued_tokens": "max_num_queued_tokens",
    "long_prefill_token_threshold": "long_prefill_token_threshold",
    "kv_cache_tokens": "kv_cache_size_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization",
}

ARGS_LINE = "non-default args: "
ARGS_LINE_OLD = "args: Namespace("
ENGINE_LINE = re.compile(r"Initializing an? (?:V1 )?LLM engine \(v([^)\s]{1,40})\) with config: ")
VERSION_LINE = re.compile(r"(?:vLLM API server |█ {1,4}|^ {0,4})version v?(\d{1,3}\.\d{1,3}[0-9A-Za-z.+-]{0,40})")
ATTENTION_LINE = re.compile(r"Using (\w{2,40}) attention backend|Using (Flash Attention|FlashInfer|XFormers) backend")
PROFILER_LINE = re.compile(r"Profiler with mode '(\w{1,20})'")
COMMAND_LINE = re.compile(
    r"^(?:\S{0,200}/)?(?:python\S{0,20} .{0,200})?(?:vllm serve|vllm\.entrypoints\.openai\.api_server)\b"
)
DEVICE_MEMORY = re.compile(r"Free memory on device \S{0,20} ?\([\d.]{1,12}/([\d.]{1,12}) GiB\) on startup")
DEVICES = ("cuda", "rocm", "cpu", "xpu", "tpu", "hpu", "neuron")

# The pool as profiled, and the one that the operator asked for instead.
BLOCKS_OVERRIDE = re.compile(r"Overriding num_gpu_blocks=(\d{1,12}) with num_gpu_blocks_override=(\d{1,12})")
