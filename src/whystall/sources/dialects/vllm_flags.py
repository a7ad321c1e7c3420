"""How vLLM's command line is spelt: short forms, switches without a value, names that changed, values to hide."""

from __future__ import annotations

SHORT = {
    "ac": "attention_config",
    "asc": "api_server_count",
    "cc": "compilation_config",
    "dc": "diffusion_config",
    "dcp": "decode_context_parallel_size",
    "dp": "data_parallel_size",
    "dpa": "data_parallel_address",
    "dpb": "data_parallel_backend",
    "dpe": "data_parallel_external_lb",
    "dph": "data_parallel_hybrid_lb",
    "dpl": "data_parallel_size_local",
    "dpm": "data_parallel_multi_port_external_lb",
    "dpn": "data_parallel_rank",
    "dpp": "data_parallel_rpc_port",
    "dpr": "data_parallel_start_rank",
    "ep": "enable_expert_parallel",
    "n": "nnodes",
    "O": "optimization_level",
    "pcp": "prefill_context_parallel_size",
    "pp": "pipeline_parallel_size",
    "q": "quantization",
    "r": "node_rank",
    "sc": "speculative_config",
    "tp": "tensor_parallel_size",
}

# Flags that take no value; each also has a --no- form or is false by default. 0.32, and older ones that are gone.
_SWITCHES = """
    aggregate_engine_logging allow_credentials allow_deprecated_quantization async_scheduling
    cohere_is_reasoning_model cudagraph_metrics data_parallel_external_lb data_parallel_hybrid_lb
    data_parallel_multi_port_external_lb dcp_q_replicate disable_cascade_attn disable_chunked_mm_input
    disable_custom_all_reduce disable_fastapi_docs disable_hybrid_kv_cache_manager disable_log_requests
    disable_log_stats disable_nccl_for_dp_synchronization disable_sliding_window disable_uvicorn_access_log
    enable_auto_tool_choice enable_batch_sharded_sampling enable_chunked_prefill enable_cumem_allocator enable_dbo
    enable_elastic_ep enable_ep_weight_filter enable_eplb enable_expert_parallel enable_fault_tolerance
    enable_flash_late_interaction enable_flashinfer_autotune enable_force_include_usage enable_hc_sp
    enable_layerwise_nvtx_tracing enable_log_deltas enable_log_outputs enable_log_requests
    enable_logging_iteration_details enable_lora enable_mamba_cache_stochastic_rounding
    enable_mamba_shared_prefix_checkpoint enable_mfu_metrics enable_mixed_moe_lora_format enable_mm_embeds
    enable_moe_shared_loras enable_nccl_comm_suspend enable_offline_docs enable_per_request_metrics
    enable_prefix_caching enable_prompt_embeds enable_prompt_tokens_details enable_request_id_headers
    enable_return_routed_experts enable_scale_out enable_server_load_tracking enable_shm_tensor_arena
    enable_sleep_mode enable_ssl_refresh enable_tokenizer_info_endpoint enable_tower_connector_lora
    enable_trace_replay enforce_eager engine_use_ray exclude_tools_when_tool_choice_none fail_on_environ_validation
    fully_sharded_loras grpc headless interleave_mm_strings jit_monitor_verbose kv_cache_metrics
    kv_sharing_fast_prefill language_model_only log_error_stack long_prefill_token_threshold_adaptive
    mm_device_do_normalize mm_encoder_only multi_step_stream_outputs numa_bind ray_workers_use_nsight
    return_sampling_mask return_tokens_as_token_ids scheduler_reserve_full_isl skip_mm_profiling skip_tokenizer_init
    sleep_mode_offload_cudagraph specialize_active_lora swa_bounded_replay tokens_only trust_remote_code
    trust_request_chat_template trust_request_mm_kwargs use_fp64_gumbel use_replayssm use_tqdm_on_load
    use_v2_block_manager worker_use_ray
    """
SWITCHES = frozenset(_SWITCHES.split())

RENAMED = {
    "cuda_graph_sizes": "cudagraph_capture_sizes",
    "device_memory_utilization": "gpu_memory_utilization",
    "kv_cache_memory": "kv_cache_memory_bytes",
    "max_seq_len_to_capture": "max_cudagraph_capture_size",
    "model_tag": "model",
    "max_seq_len": "max_model_len",
    "device_config": "device",
    "chunked_prefill_enabled": "enable_chunked_prefill",
    "use_async_output_proc": "async_output_proc",
}

# Values that must not reach a report.
SECRET = frozenset(("api_key", "hf_token", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs"))
HIDDEN = "***"
