"""vLLM's engine metrics, 0.5 to 0.32. ``vllm_subsystems`` has those of parts that must be switched on."""

from __future__ import annotations

from .entry import Alias, MetricEntry, counter, gauge, histogram

GAUGES = (
    gauge(
        "num_requests_running",
        "req",
        "Requests admitted to the batch, also those not scheduled in this step.",
        "已进入批次的请求数，包括本步未被调度的请求。",
    ),
    gauge(
        "num_requests_waiting",
        "req",
        "Requests queued, preempted and deferred ones included.",
        "排队中的请求数，包括被抢占和被推迟的请求。",
    ),
    gauge(
        "num_requests_waiting_by_reason",
        "req",
        "Queued requests by reason: capacity (no KV blocks, seats or tokens), deferred (grammar, remote KV, LoRA).",
        "按原因划分的排队请求：capacity 表示缺 KV 块、席位或 token 预算，deferred 表示等待语法编译、远端 KV 或 LoRA。",
        since="0.20.2",
    ),
    gauge(
        "num_requests_kv_fetch_by_stage",
        "req",
        "Requests fetching KV from a remote server, by stage; only on a KV consumer.",
        "正在从远端获取 KV 的请求数，按阶段划分；仅出现在 KV 消费端。",
        since="0.32",
    ),
    gauge(
        "kv_cache_usage_perc",
        "ratio",
        "Share of KV blocks in use, 0 to 1. Cached blocks that no request holds count as free.",
        "已使用的 KV 块占比，0 到 1。没有请求持有的缓存块算作空闲。",
        Alias("gpu_cache_usage_perc", until="0.11.2"),
        since="0.9.2",
    ),
    gauge(
        "engine_sleep_state",
        "1",
        "Sleep mode: the state whose label has value 1.",
        "休眠模式：取值为 1 的标签即当前状态。",
        since="0.11.2",
    ),
    gauge(
        "lora_requests_info",
        "unix s",
        "LoRA adapters running and waiting, in the labels; the newest value is current. With several API processes"
        " the value is a sum and means nothing.",
        "正在运行和等待的 LoRA 适配器，见标签；取值最新者为当前。多个 API 进程时取值为求和，没有意义。",
    ),
    gauge(
        "cache_config_info",
        "1",
        "The cache's configuration in the labels: num_gpu_blocks, block_size, cache_dtype and others.",
        "缓存配置，见标签：num_gpu_blocks、block_size、cache_dtype 等。",
    ),
    gauge(
        "num_requests_swapped",
        "req",
        "Requests swapped out to host memory; V0 only.",
        "换出到主机内存的请求数；仅 V0。",
        until="0.9.1",
    ),
    gauge(
        "cpu_cache_usage_perc",
        "ratio",
        "Share of host KV blocks in use; V0 only.",
        "主机端 KV 块使用率；仅 V0。",
        until="0.9.1",
    ),
    gauge(
        "gpu_prefix_cache_hit_rate",
        "ratio",
        "Prefix cache hit rate since the start, -1 where there is none; V0 only.",
        "自启动以来的前缀缓存命中率，没有时为 -1；仅 V0。",
        since="0.6.6",
        until="0.9.1",
    ),
    gauge(
        "cpu_prefix_cache_hit_rate",
        "ratio",
        "Host prefix cache hit rate since the start; V0 only.",
        "自启动以来的主机端前缀缓存命中率；仅 V0。",
        since="0.6.6",
        until="0.9.1",
    ),
    gauge(
        "avg_prompt_throughput_toks_per_s",
        "tokens/s",
        "Prompt tokens a second over the last log interval; early V0 only.",
        "上一日志周期内每秒处理的提示 token 数；仅早期 V0。",
        until="0.6.6",
    ),
    gauge(
        "avg_generation_throughput_toks_per_s",
        "tokens/s",
        "Generated tokens a second over the last log interval; early V0 only.",
        "上一日志周期内每秒生成的 token 数；仅早期 V0。",
        until="0.6.6",
    ),
    gauge(
        "spec_decode_draft_acceptance_rate",
        "ratio",
        "Share of drafted tokens accepted; V0 only.",
        "草稿 token 的接受率；仅 V0。",
        until="0.9.2",
    ),
    gauge(
        "spec_decode_efficiency",
        "ratio",
        "Emitted tokens over the most that drafting allows; V0 only.",
        "实际产出 token 与草稿允许上限之比；仅 V0。",
        until="0.9.2",
    ),
)

COUNTERS = (
    counter(
        "num_preemptions",
        "events",
        "Requests thrown out of the batch for lack of KV blocks. Seen only with the request's next output, so it lags.",
        "因 KV 块不足被抢占的次数。随该请求的下一次输出才上报，因此有滞后。",
    ),
    counter(
        "prompt_tokens",
        "tokens",
        "Prompt tokens of requests whose prefill finished, cached ones included; recomputation is not counted.",
        "预填充已完成的请求的提示 token 数，包含缓存命中；不含重算。",
    ),
    counter(
        "prompt_tokens_by_source",
        "tokens",
        "Prompt tokens computed, found in the local cache, or received from another server.",
        "提示 token 的来源：本地计算、本地缓存命中、外部 KV 传输。",
        since="0.16",
    ),
    counter(
        "prompt_tokens_cached",
        "tokens",
        "Prompt tokens found in the local or an external cache.",
        "本地或外部缓存命中的提示 token 数。",
        since="0.16",
    ),
    counter(
        "prompt_tokens_cached_by_source",
        "tokens",
        "Cached prompt tokens by where they lay: device, host, p2p, disk.",
        "缓存命中的提示 token 数，按所在位置划分：device、host、p2p、disk。",
        since="0.32",
    ),
    counter(
        "prompt_tokens_recomputed",
        "tokens",
        "Prompt tokens computed again.",
        "重新计算的提示 token 数。",
        since="0.16",
        until="0.19.1",
    ),
    counter("generation_tokens", "tokens", "Tokens generated.", "已生成的 token 数。"),
    counter(
        "tokens", "tokens", "Prompt and generated tokens; V0 only.", "提示与生成 token 之和；仅 V0。", until="0.6.6"
    ),
    counter(
        "request_success",
        "req",
        "Requests finished, by finished_reason. Requests that the client dropped are not counted.",
        "按 finished_reason 划分的已完成请求数。客户端断开的请求不计入。",
    ),
    counter(
        "prefix_cache_queries",
        "tokens",
        "Prompt tokens looked up in the prefix cache. Before 0.28 retries at the queue's head counted again.",
        "在前缀缓存中查询的提示 token 数。0.28 之前队首重试会重复计入。",
        Alias("gpu_prefix_cache_queries", since="0.8.5", until="0.11.2"),
        since="0.9.2",
    ),
    counter(
        "prefix_cache_hits",
        "tokens",
        "Prompt tokens found in the prefix cache; the hit rate is its rise over that of the queries.",
        "前缀缓存命中的提示 token 数；命中率为其增量除以查询增量。",
        Alias("gpu_prefix_cache_hits", since="0.8.5", until="0.11.2"),
        since="0.9.2",
    ),
    counter(
        "external_prefix_cache_queries",
        "tokens",
        "Prompt tokens looked up through a KV connector; moves only with one.",
        "通过 KV 连接器查询的提示 token 数；有连接器时才变化。",
    ),
    counter(
        "external_prefix_cache_hits",
        "tokens",
        "Prompt tokens found through a KV connector.",
        "通过 KV 连接器命中的提示 token 数。",
    ),
    counter("mm_cache_queries", "items", "Multimodal items looked up in the cache.", "多模态缓存的查询项数。"),
    counter("mm_cache_hits", "items", "Multimodal items found in the cache.", "多模态缓存的命中项数。"),
    counter(
        "admission_rejections",
        "req",
        "Requests refused with HTTP 503 by --max-num-queued-reqs or --max-num-queued-tokens, by reason.",
        "被 --max-num-queued-reqs 或 --max-num-queued-tokens 以 HTTP 503 拒绝的请求数，按原因划分。",
        since="0.32",
    ),
    counter(
        "corrupted_requests",
        "req",
        "Requests with NaN logits; only with VLLM_COMPUTE_NANS_IN_LOGITS=1.",
        "logits 出现 NaN 的请求数；仅在 VLLM_COMPUTE_NANS_IN_LOGITS=1 时统计。",
        since="0.11.2",
    ),
    counter(
        "estimated_flops_per_gpu",
        "FLOP",
        "Estimated floating point operations a GPU; moves only with --enable-mfu-metrics.",
        "每块 GPU 的估算浮点运算量；仅在 --enable-mfu-metrics 时变化。",
        since="0.17.1",
    ),
    counter(
        "estimated_read_bytes_per_gpu",
        "bytes",
        "Estimated bytes read from GPU memory; moves only with --enable-mfu-metrics.",
        "估算的显存读取字节数；仅在 --enable-mfu-metrics 时变化。",
        since="0.17.1",
    ),
    counter(
        "estimated_write_bytes_per_gpu",
        "bytes",
        "Estimated bytes written to GPU memory; moves only with --enable-mfu-metrics.",
        "估算的显存写入字节数；仅在 --enable-mfu-metrics 时变化。",
        since="0.17.1",
    ),
)

LATENCIES = (
    histogram(
        "time_to_first_token_seconds",
        "s",
        "TTFT: arrival at the API server to the first token, tokenisation included. Observed at the first token.",
        "TTFT：从到达 API 服务器到首个 token 的时间，含分词。在首个 token 时记录。",
    ),
    histogram(
        "inter_token_latency_seconds",
        "s",
        "ITL: time between a request's outputs, preempted time included; under speculation an output has many tokens.",
        "ITL：同一请求相邻两次输出的间隔，含被抢占的时间；投机解码时一次输出包含多个 token。",
        Alias("time_per_output_token_seconds", until="0.14.1"),
        since="0.10.2",
    ),
    histogram(
        "request_time_per_output_token_seconds",
        "s",
        "A request's mean time per output token after the first. Observed at the finish.",
        "单个请求首 token 之后的平均每 token 时间。在请求结束时记录。",
        since="0.11.0",
    ),
    histogram(
        "e2e_request_latency_seconds",
        "s",
        "Arrival to the last token. Observed at the finish, so silent in a stall.",
        "从到达至最后一个 token 的时间。在请求结束时记录，停滞期间没有新值。",
    ),
    histogram(
        "request_queue_time_seconds",
        "s",
        "Queued to first scheduled; waiting again after a preemption is not in it. The smallest bucket is 0.3 s.",
        "从入队到首次被调度的时间；抢占后的再次等待不计入。最小桶为 0.3 秒。",
        Alias("time_in_queue_requests", since="0.6.6", until="0.8.5"),
    ),
    histogram(
        "request_prefill_time_seconds",
        "s",
        "First scheduled to the first token, preemption and interleaving with others included.",
        "从首次被调度到首个 token 的时间，含抢占及与其他请求交错的时间。",
    ),
    histogram(
        "request_decode_time_seconds",
        "s",
        "First to last token, preempted time included. Observed at the finish.",
        "从首个到最后一个 token 的时间，含被抢占的时间。在请求结束时记录。",
    ),
    histogram(
        "request_inference_time_seconds",
        "s",
        "First scheduled to the last token. Observed at the finish.",
        "从首次被调度到最后一个 token 的时间。在请求结束时记录。",
    ),
    histogram(
        "model_forward_time_milliseconds",
        "ms",
        "Model forward time; V0 with detailed traces only.",
        "模型前向时间；仅 V0 且开启详细追踪。",
        until="0.9.1",
    ),
    histogram(
        "model_execute_time_milliseconds",
        "ms",
        "Model execution time; V0 with detailed traces only.",
        "模型执行时间；仅 V0 且开启详细追踪。",
        until="0.9.1",
    ),
)

SIZES = (
    histogram(
        "request_num_preemptions",
        "events",
        "How often a request was preempted. Observed at the finish.",
        "单个请求被抢占的次数。在请求结束时记录。",
        since="0.30",
    ),
    histogram("request_prompt_tokens", "tokens", "Prompt length of finished requests.", "已完成请求的提示长度。"),
    histogram("request_generation_tokens", "tokens", "Output length of finished requests.", "已完成请求的输出长度。"),
    histogram(
        "request_max_num_generation_tokens",
        "tokens",
        "Longest output among a request's sequences.",
        "单个请求各序列中最长的输出长度。",
    ),
    histogram(
        "request_params_max_tokens", "tokens", "The max_tokens that requests asked for.", "请求给出的 max_tokens。"
    ),
    histogram("request_params_n", "1", "The n that requests asked for.", "请求给出的 n。"),
    histogram(
        "request_params_best_of",
        "1",
        "The best_of that requests asked for; V0 only.",
        "请求给出的 best_of；仅 V0。",
        until="0.9.1",
    ),
    histogram(
        "request_prefill_kv_computed_tokens",
        "tokens",
        "Prompt tokens computed for a request: its prompt less the cached part.",
        "单个请求实际计算的提示 token 数，即提示长度减去缓存命中部分。",
        since="0.13",
    ),
    histogram(
        "iteration_tokens_total",
        "tokens",
        "Tokens of one output batch: prompts whose prefill ended in it and generated tokens. Not the tokens scheduled.",
        "一次输出批次的 token 数：在该批次完成预填充的提示加上生成的 token。不等于被调度的 token 数。",
    ),
)

ENTRIES: tuple[MetricEntry, ...] = (*GAUGES, *COUNTERS, *LATENCIES, *SIZES)

# Names that every server of a version shows, from that version on: their absence says that it is older.
ALWAYS_SINCE = {
    "kv_cache_usage_perc": "0.9.2",
    "prompt_tokens_by_source": "0.16",
    "num_requests_waiting_by_reason": "0.20.2",
    "request_num_preemptions": "0.30",
    "prompt_tokens_cached_by_source": "0.32",
}
