"""What the tables on whose load it was say, in every language."""

from __future__ import annotations

from whystall.model.text import Text

LOAD_PHRASES: dict[str, Text] = {
    "who": Text("Who holds the KV cache and the prefill", "谁占用 KV 缓存与预填充"),
    "who_note": Text(
        "from {source}, over the {seconds} of the incident{covered}", "来自{source}，事故期间 {seconds}{covered}"
    ),
    "who_covered": Text("; {ratio} of the KV in use is shown", "；显示了所用 KV 的 {ratio}"),
    "who_spans": Text("spans", "追踪"),
    "who_client": Text("the client's file", "客户端文件"),
    "who_metrics": Text("the histogram of prompt lengths", "提示长度直方图"),
    "holder_kind": Text("What", "类别"),
    "holder_request": Text("request", "请求"),
    "holder_lengths": Text("prompt tokens", "提示 token 数"),
    "holder_adapter": Text("adapter", "适配器"),
    "holder_tenant": Text("tenant", "租户"),
    "holder_name": Text("Which", "名称"),
    "holder_requests": Text("Requests", "请求数"),
    "holder_kv": Text("KV-seconds", "KV·秒"),
    "holder_kv_ratio": Text("of all", "占比"),
    "holder_prefill": Text("Prefill tokens", "预填充 token"),
    "holder_prefill_ratio": Text("of all prefill", "占预填充"),
    "cohorts": Text("Which lengths came more or less often", "哪些长度变多或变少"),
    "cohort_what": Text("Requests with", "请求"),
    "cohort_prompt": Text("prompts of {range} tokens", "提示 {range} 个 token"),
    "cohort_output": Text("outputs of {range} tokens", "输出 {range} 个 token"),
    "cohort_before": Text("before", "此前"),
    "cohort_now": Text("during", "期间"),
    "cohort_value": Text("{ratio} ({rate}/s)", "{ratio}（每秒 {rate}）"),
    "lags": Text("What moved together", "哪些量一起变化"),
    "lags_note": Text(
        "for people to look at: what moves together need not cause, and no answer weighs it",
        "供人参考：一起变化不等于因果，结论不采用此表",
    ),
    "lag_signal": Text("Signal", "信号"),
    "lag_loss": Text("then", "随后"),
    "lag_after": Text("after", "滞后"),
    "lag_correlation": Text("rank correlation", "秩相关"),
}
