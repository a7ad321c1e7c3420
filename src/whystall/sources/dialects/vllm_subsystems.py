"""Metrics of vLLM's parts that must be switched on: speculation, KV transfer and offload, tracing of KV blocks."""

from __future__ import annotations

from .entry import MetricEntry, counter, gauge, histogram

SPECULATION = (
    counter("spec_decode_num_drafts", "events", "Drafts made.", "草稿次数。"),
    counter("spec_decode_num_draft_tokens", "tokens", "Tokens drafted.", "草稿 token 数。"),
    counter(
        "spec_decode_num_accepted_tokens",
        "tokens",
        "Drafted tokens accepted; its rise over that of the drafted tokens is the acceptance rate.",
        "被接受的草稿 token 数；其增量除以草稿 token 增量即接受率。",
    ),
    counter(
        "spec_decode_num_accepted_tokens_per_pos",
        "tokens",
        "Drafted tokens accepted, by position in the draft.",
        "按草稿内位置划分的被接受 token 数。",
    ),
    counter(
        "spec_decode_num_emitted_tokens",
        "tokens",
        "Tokens emitted under speculation; V0 only.",
        "投机解码产出的 token 数；仅 V0。",
        until="0.9.2",
    ),
    counter(
        "diffusion_num_denoising_steps",
        "steps",
        "Denoising steps of a diffusion LLM.",
        "扩散语言模型的去噪步数。",
        since="0.24",
    ),
    counter(
        "diffusion_num_canvas_positions",
        "tokens",
        "Positions worked on by a diffusion LLM.",
        "扩散语言模型处理的位置数。",
        since="0.24",
    ),
    counter(
        "diffusion_num_committed_tokens",
        "tokens",
        "Tokens that a diffusion LLM settled.",
        "扩散语言模型确定的 token 数。",
        since="0.24",
    ),
)

BLOCKS = (
    histogram(
        "kv_block_lifetime_seconds",
        "s",
        "How long a sampled KV block lived; only with --kv-cache-metrics.",
        "被采样 KV 块的存活时间；仅在 --kv-cache-metrics 时统计。",
        since="0.12",
    ),
    histogram(
        "kv_block_idle_before_evict_seconds",
        "s",
        "How long a sampled KV block lay idle before it was evicted.",
        "被采样 KV 块在淘汰前的空闲时间。",
        since="0.12",
    ),
    histogram(
        "kv_block_reuse_gap_seconds",
        "s",
        "Time between uses of a sampled KV block.",
        "被采样 KV 块两次使用的间隔。",
        since="0.12",
    ),
)

NIXL = (
    histogram("nixl_xfer_time_seconds", "s", "Time of a KV transfer.", "一次 KV 传输的时间。"),
    histogram("nixl_post_time_seconds", "s", "Time to post a KV transfer.", "提交一次 KV 传输的时间。"),
    histogram("nixl_bytes_transferred", "bytes", "Bytes of a KV transfer.", "一次 KV 传输的字节数。"),
    histogram("nixl_num_descriptors", "1", "Descriptors of a KV transfer.", "一次 KV 传输的描述符数。"),
    counter("nixl_num_failed_transfers", "events", "KV transfers that failed.", "失败的 KV 传输次数。"),
    counter("nixl_num_failed_notifications", "events", "KV notifications that failed.", "失败的 KV 通知次数。"),
    counter(
        "nixl_num_kv_expired_reqs",
        "req",
        "Requests whose KV expired before it was fetched.",
        "KV 在被取走之前过期的请求数。",
        since="0.15.1",
    ),
    counter(
        "nixl_num_notifications_after_expiry",
        "events",
        "KV notifications that came after the KV had expired.",
        "KV 过期之后才到达的通知次数。",
        since="0.32",
    ),
)

OFFLOAD = (
    counter("kv_offload_load_bytes", "bytes", "Bytes loaded from the KV offload tier.", "从 KV 卸载层载入的字节数。"),
    counter("kv_offload_load_time", "s", "Time spent loading from the KV offload tier.", "从 KV 卸载层载入所用时间。"),
    counter("kv_offload_store_bytes", "bytes", "Bytes stored to the KV offload tier.", "写入 KV 卸载层的字节数。"),
    counter("kv_offload_store_time", "s", "Time spent storing to the KV offload tier.", "写入 KV 卸载层所用时间。"),
    counter(
        "kv_offload_allocation_failure", "events", "Failed allocations in the offload tier.", "卸载层分配失败次数。"
    ),
    counter(
        "kv_offload_stores_skipped", "events", "Stores to the offload tier that were skipped.", "被跳过的卸载写入次数。"
    ),
    histogram("kv_offload_load_size", "bytes", "Size of one load from the offload tier.", "单次从卸载层载入的大小。"),
    histogram("kv_offload_store_size", "bytes", "Size of one store to the offload tier.", "单次写入卸载层的大小。"),
    histogram("kv_offload_lookup_sync_delay_seconds", "s", "Delay of a blocking lookup.", "同步查询的延迟。"),
    histogram("kv_offload_lookup_async_delay_seconds", "s", "Delay of a lookup in the background.", "异步查询的延迟。"),
    gauge("kv_offload_cpu_cache_usage_perc", "ratio", "Share of the host KV tier in use.", "主机端 KV 层使用率。"),
    gauge("kv_offload_cpu_cache_write_usage_perc", "ratio", "Share held by writes.", "被写入占用的比例。"),
    gauge("kv_offload_cpu_cache_read_usage_perc", "ratio", "Share held by reads.", "被读取占用的比例。"),
    gauge("kv_offload_cpu_allocation_size", "bytes", "Size of the host KV tier.", "主机端 KV 层的大小。"),
    counter(
        "kv_offload_total_bytes",
        "bytes",
        "Bytes moved, by transfer_type; deprecated.",
        "按 transfer_type 的搬移字节数；已弃用。",
    ),
    counter(
        "kv_offload_total_time",
        "s",
        "Time of moves, by transfer_type; deprecated.",
        "按 transfer_type 的搬移时间；已弃用。",
    ),
    histogram(
        "kv_offload_size",
        "bytes",
        "Size of one move, by transfer_type; deprecated.",
        "按 transfer_type 的单次大小；已弃用。",
    ),
)

TIERING = (
    counter("kv_offload_tiering_read_bytes", "bytes", "Bytes read from a tier.", "从某层读取的字节数。"),
    counter("kv_offload_tiering_write_bytes", "bytes", "Bytes written to a tier.", "写入某层的字节数。"),
    counter("kv_offload_tiering_read_time", "s", "Time spent reading from a tier.", "从某层读取所用时间。"),
    counter("kv_offload_tiering_write_time", "s", "Time spent writing to a tier.", "写入某层所用时间。"),
    counter("kv_offload_tiering_promotion_job_failures", "events", "Promotions that failed.", "失败的提升任务数。"),
    counter("kv_offload_tiering_cascade_job_failures", "events", "Cascades that failed.", "失败的级联任务数。"),
    counter("kv_offload_tiering_chunk_queries", "chunks", "Chunks looked up in a tier.", "某层中查询的块数。"),
    counter("kv_offload_tiering_chunk_hits", "chunks", "Chunks found in a tier.", "某层中命中的块数。"),
    gauge(
        "kv_offload_tiering_primary_read_usage_perc",
        "ratio",
        "Share of the primary tier held by reads.",
        "主层被读取占用的比例。",
    ),
    gauge(
        "kv_offload_tiering_primary_write_usage_perc",
        "ratio",
        "Share of the primary tier held by writes.",
        "主层被写入占用的比例。",
    ),
    counter(
        "kv_offload_tiering_promotion_allocation_failures",
        "events",
        "Promotions without room.",
        "因空间不足失败的提升次数。",
    ),
    gauge("kv_offload_tiering_active_promotion_jobs", "1", "Promotions under way.", "进行中的提升任务数。"),
    gauge("kv_offload_tiering_active_cascade_jobs", "1", "Cascades under way.", "进行中的级联任务数。"),
    gauge(
        "kv_offload_tiering_backpressure_store_latency_ema", "s", "Smoothed latency of stores.", "写入延迟的滑动平均。"
    ),
    counter(
        "kv_offload_tiering_backpressure_stores_dropped",
        "events",
        "Stores dropped under pressure.",
        "压力下丢弃的写入次数。",
    ),
    counter(
        "kv_offload_tiering_backpressure_blocks_dropped",
        "blocks",
        "Blocks dropped under pressure.",
        "压力下丢弃的块数。",
    ),
    histogram(
        "kv_offload_tiering_lookup_sync_delay_seconds",
        "s",
        "Delay of a blocking lookup in a tier.",
        "某层同步查询的延迟。",
    ),
    histogram(
        "kv_offload_tiering_lookup_async_delay_seconds",
        "s",
        "Delay of a background lookup in a tier.",
        "某层异步查询的延迟。",
    ),
    counter(
        "simple_kv_offload_save_outcomes", "events", "Saves to host memory, by outcome.", "按结果划分的主机保存次数。"
    ),
    counter("simple_kv_offload_load_blocks", "blocks", "Blocks loaded from host memory.", "从主机内存载入的块数。"),
    gauge("simple_kv_offload_used_blocks", "blocks", "Host blocks in use.", "使用中的主机块数。"),
    gauge("simple_kv_offload_pending_store_blocks", "blocks", "Blocks waiting to be stored.", "等待写入的块数。"),
    gauge(
        "simple_kv_offload_info", "1", "Configuration of the simple offload, in the labels.", "简单卸载的配置，见标签。"
    ),
)

CONNECTORS = (
    histogram("mooncake_store_operation_time_seconds", "s", "Time of a Mooncake operation.", "Mooncake 操作的时间。"),
    counter("mooncake_store_operation", "events", "Mooncake operations, by status.", "按状态划分的 Mooncake 操作数。"),
    counter("mooncake_store_operation_keys", "keys", "Keys of Mooncake operations.", "Mooncake 操作涉及的键数。"),
    counter("mooncake_store_operation_bytes", "bytes", "Bytes of Mooncake operations.", "Mooncake 操作的字节数。"),
    counter("mooncake_store_operation_failed_keys", "keys", "Keys that failed.", "失败的键数。"),
    histogram("hf3fs_save_duration_seconds", "s", "Time of a save to HF3FS.", "写入 HF3FS 的时间。"),
    histogram("hf3fs_load_duration_seconds", "s", "Time of a load from HF3FS.", "从 HF3FS 载入的时间。"),
    counter("hf3fs_num_failed_load", "events", "Loads from HF3FS that failed.", "从 HF3FS 载入失败的次数。"),
    counter("hf3fs_num_failed_save", "events", "Saves to HF3FS that failed.", "写入 HF3FS 失败的次数。"),
    counter("hisparse_cache_hits", "1", "Hits in the HiSparse cache.", "HiSparse 缓存命中数。"),
    counter("hisparse_cache_misses", "1", "Misses in the HiSparse cache.", "HiSparse 缓存未命中数。"),
    gauge(
        "hisparse_host_cache_usage_perc",
        "ratio",
        "Share of the HiSparse host cache in use.",
        "HiSparse 主机缓存使用率。",
    ),
    counter(
        "hisparse_host_to_device_bytes",
        "bytes",
        "Bytes moved to the device by HiSparse.",
        "HiSparse 搬到设备的字节数。",
    ),
    gauge(
        "hisparse_pending_page_transfers", "pages", "HiSparse page transfers pending.", "HiSparse 等待中的页传输数。"
    ),
    histogram(
        "hisparse_host_block_lifetime_seconds", "s", "Life of a HiSparse host block.", "HiSparse 主机块的存活时间。"
    ),
    histogram(
        "hisparse_host_block_idle_before_evict_seconds",
        "s",
        "Idle time of a HiSparse host block.",
        "HiSparse 主机块的空闲时间。",
    ),
    histogram(
        "hisparse_host_block_reuse_gap_seconds",
        "s",
        "Gap between uses of a HiSparse block.",
        "HiSparse 块两次使用的间隔。",
    ),
)

FRONT_END = (
    counter("watermark_requests", "req", "Requests with text watermarking, by status.", "按状态划分的文本水印请求数。"),
    counter(
        "tool_call_parser_invocations",
        "events",
        "Tool call parsing, by mode, outcome and request_type.",
        "工具调用解析次数，按模式、结果和请求类型划分。",
        since="0.24",
    ),
    gauge("websocket_connections_active", "1", "Open realtime connections.", "打开的实时连接数。"),
    counter("websocket_connections", "1", "Realtime connections opened.", "累计打开的实时连接数。"),
    histogram(
        "websocket_connection_duration_seconds", "s", "How long realtime connections lasted.", "实时连接的时长。"
    ),
    histogram("sleep_mode_operation_duration_seconds", "s", "Time of a sleep or wake-up.", "休眠或唤醒的时间。"),
    gauge("sleep_mode_operations_in_flight", "1", "Sleeps and wake-ups under way.", "进行中的休眠或唤醒操作数。"),
    histogram("rl_weight_update_operation_duration_seconds", "s", "Time of a weight update.", "一次权重更新的时间。"),
    gauge("rl_weight_update_operations_in_flight", "1", "Weight updates under way.", "进行中的权重更新数。"),
    gauge("rl_weight_update_operation_in_flight", "1", "Weight updates under way.", "进行中的权重更新数。"),
)

ENTRIES: tuple[MetricEntry, ...] = (*SPECULATION, *BLOCKS, *NIXL, *OFFLOAD, *TIERING, *CONNECTORS, *FRONT_END)
