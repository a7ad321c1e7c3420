"""Every word that the reports add to a diagnosis, in each language."""

from __future__ import annotations

from typing import Any

from whystall.model.text import Text

PHRASES: dict[str, Text] = {
    # verdicts
    "healthy": Text("healthy", "健康"),
    "bottleneck": Text("bottleneck", "存在瓶颈"),
    "unknown": Text("could not tell", "无法判断"),
    # the answer
    "since_start": Text("There from the start of the window", "窗口开始时就已存在"),
    "since": Text(
        "Since {at} into the window ({low} to {high}), {clock}", "自窗口第 {at}（区间 {low} 至 {high}）起，{clock}"
    ),
    "set_off_by": Text("set off by {what}", "触发因素：{what}"),
    "no_trigger": Text("no trigger seen in this window", "此窗口内未见触发因素"),
    "looked_at": Text("Looked at {seconds} ({start} to {end})", "观察了 {seconds}（{start} 至 {end}）"),
    "one_scrape": Text("Looked at one moment only", "只观察了一个时刻"),
    "nothing_scraped": Text("Nothing could be read", "没有读到任何数据"),
    "do_first": Text("Do first", "首先"),
    "nothing_to_do": Text("nothing; no limit that users can feel binds", "无需处理：没有用户能感受到的瓶颈"),
    "explain_first": Text("run `whystall explain {id}` for what it is", "运行 `whystall explain {id}` 查看这是什么"),
    "watch_longer": Text("watch for longer: --for 120s", "延长观察时间：--for 120s"),
    "needs_restart": Text("needs a restart", "需要重启"),
    # facts
    "target": Text("Target", "目标"),
    "engine": Text("Engine", "引擎"),
    "engine_id": Text("Engine label", "引擎标签"),
    "model": Text("Model", "模型"),
    "window": Text("Window", "窗口"),
    "window_value": Text("{seconds}, {scrapes} scrapes{interval}", "{seconds}，{scrapes} 次抓取{interval}"),
    "window_interval": Text(" at {interval}", "，间隔 {interval}"),
    "version_unknown": Text("version not seen", "未见版本"),
    # sections
    "engines": Text("Engines on this page", "此页面上的引擎"),
    "causes": Text("Causes", "原因"),
    "other_engine": Text("Engine {id}", "引擎 {id}"),
    "ruled_out": Text("Ruled out", "已排除"),
    "evidence": Text("Evidence", "证据"),
    "remedies": Text("What to change", "如何调整"),
    "impact": Text("What it costs", "影响"),
    "limits": Text("Limits", "限制"),
    "identities": Text("Do the signals agree", "信号是否自洽"),
    "coverage": Text("What was seen and what was not", "观测覆盖"),
    "warnings": Text("Warnings", "警告"),
    "memory": Text("GPU memory", "GPU 显存"),
    "timeline": Text("Timeline", "时间线"),
    "verdict": Text("Verdict", "结论"),
    "headline": Text("Answer", "答案"),
    # causes and whys
    "cause": Text("Cause", "原因"),
    "probability": Text("Probability", "概率"),
    "role": Text("Role", "角色"),
    "role_trigger": Text("trigger: what set it off", "触发因素"),
    "role_limit": Text("limit: what binds", "约束因素"),
    "onset": Text("Onset", "起点"),
    "onset_value": Text("{at} ({low} to {high})", "{at}（{low} 至 {high}）"),
    "from_the_start": Text("from the start", "一开始就有"),
    "binding_limit": Text("Limit that binds", "起约束作用的限制"),
    "why": Text("Why", "为什么"),
    "holds": Text("holds", "成立"),
    "does_not_hold": Text("does not hold", "不成立"),
    "rejects": Text("So it is not: {what}", "因此排除：{what}"),
    "evidence_for": Text("Evidence for", "支持证据"),
    "evidence_against": Text("Evidence against", "反对证据"),
    "no_causes": Text("None found.", "未发现。"),
    "because": Text("Because", "理由"),
    # evidence
    "statement": Text("Statement", "陈述"),
    "value": Text("Value", "数值"),
    "speaks": Text("Speaks", "倾向"),
    "strongly_for": Text("strongly for", "强烈支持"),
    "for": Text("for", "支持"),
    "neutral": Text("neither way", "中性"),
    "against": Text("against", "反对"),
    "strongly_against": Text("strongly against", "强烈反对"),
    "from": Text("From", "来源"),
    "over": Text("Over", "统计区间"),
    "departs": Text("departs from this server's baseline", "偏离此服务器的基线"),
    # limits
    "name": Text("Name", "名称"),
    "known": Text("How known", "如何得知"),
    "reported": Text("reported", "服务器报告"),
    "default": Text("default", "默认值"),
    "inferred": Text("inferred", "推断"),
    "limit_value": Text("{name} = {value} ({how})", "{name} = {value}（{how}）"),
    # identities
    "law": Text("Law", "规律"),
    "agrees": Text("Agrees", "是否成立"),
    "yes": Text("yes", "是"),
    "no": Text("no", "否"),
    "not_testable": Text("not testable", "无法检验"),
    "law_I1": Text("time in running, over the window, is the mean running", "运行时间之和 / 窗口 = 平均运行数"),
    "law_I2": Text("time queued, over the window, is the mean waiting", "排队时间之和 / 窗口 = 平均等待数"),
    "law_I3": Text("token counters match the requests' own sums", "token 计数器与各请求之和一致"),
    "law_I4": Text("arrivals less finishes is the change in flight", "到达减完成 = 在途请求的变化"),
    "law_I10": Text("steps fit into the time there was", "步数 × 步长不超过可用时间"),
    "law_I11": Text("TTFT is front end, queue and prefill together", "TTFT = 前端 + 排队 + 预填充"),
    "law_I13": Text("mean ITL is the mean step", "平均 ITL = 平均步长"),
    "law_I14": Text("hit rate and computed prompt tokens agree", "命中率与实际计算的提示 token 数一致"),
    # coverage
    "signals_seen": Text("Signals read", "已读取的信号"),
    "signals_none": Text("none", "无"),
    "missing": Text("Missing", "缺失"),
    "would_settle": Text("Would settle", "可用于判定"),
    "how": Text("How to get it", "如何获取"),
    "unknown_names": Text("Metrics newer than our tables, left out", "比内置表更新的指标（未使用）"),
    "more": Text("and {count} more", "另有 {count} 项"),
    "signal_metrics": Text("/metrics", "/metrics"),
    "signal_gpu": Text("GPU (NVML)", "GPU(NVML)"),
    "signal_host": Text("host and processes", "主机与进程"),
    "signal_log": Text("server log", "服务器日志"),
    "signal_config": Text("configuration", "配置"),
    "signal_client": Text("client's view", "客户端视角"),
    "signal_spans": Text("request spans", "请求 span"),
    "signal_trace": Text("profiler trace", "性能剖析"),
    # impact
    "ttft_p95_s": Text("TTFT p95", "TTFT p95"),
    "ttft_mean_s": Text("TTFT mean", "TTFT 均值"),
    "itl_p95_s": Text("ITL p95", "ITL p95"),
    "itl_mean_s": Text("ITL mean", "ITL 均值"),
    "e2e_p95_s": Text("End to end p95", "端到端 p95"),
    "queue_s": Text("Time queued, mean", "平均排队时间"),
    "tokens_per_s": Text("Output", "输出速率"),
    "errors_per_s": Text("Errors", "错误"),
    "rejected_per_s": Text("Rejected", "被拒绝"),
    "requests_affected_ratio": Text("Requests affected", "受影响的请求"),
    "impact_over": Text("over {seconds}", "统计区间 {seconds}"),
    # memory
    "part_weights": Text("weights", "权重"),
    "part_kv": Text("KV cache", "KV 缓存"),
    "part_graphs": Text("CUDA graphs", "CUDA graph"),
    "part_other": Text("other", "其他"),
    "part_free": Text("free", "空闲"),
    "part": Text("Part", "部分"),
    "size": Text("Size", "大小"),
    "share": Text("Share", "占比"),
    "memory_total": Text("{total} on one GPU", "单 GPU 共 {total}"),
    "memory_no_total": Text("total not seen; shares are of what was seen", "未见总量；占比按已见部分计算"),
    # remedies
    "change": Text("Change", "改动"),
    "effect": Text("Expected effect", "预期效果"),
    "effect_value": Text("{name} {mid} ({low} to {high})", "{name} {mid}（{low} 至 {high}）"),
    "risk": Text("Risk", "风险"),
    "undo": Text("Undo", "回退"),
    "colon": Text(": ", "："),
    # numbers
    "not_seen": Text("not seen", "未见"),
    "unit_tokens_per_s": Text("tok/s", "tok/s"),
    "unit_per_s": Text("/s", "/秒"),
    "unit_requests": Text("requests", "个请求"),
    "unit_requests_per_s": Text("requests/s", "个请求/秒"),
    # page
    "theme": Text("Light or dark", "浅色 / 深色"),
    "charts_need_script": Text(
        "The charts need JavaScript; everything else on this page does not.",
        "图表需要 JavaScript；页面其余部分不需要。",
    ),
    "chart_help": Text(
        "Hover, or focus a chart and use the arrow keys; drag to zoom, double-click to reset.",
        "悬停查看，或聚焦图表后使用方向键；拖动缩放，双击还原。",
    ),
    "chart_onset": Text("onset", "起点"),
    "chart_onset_range": Text("shaded: 90% interval of the onset", "阴影：起点的 90% 区间"),
    "chart_limit_above": Text("{label}: above this chart", "{label}：在图表范围之上"),
    "chart_time": Text("time", "时间"),
    "made_by": Text(
        "Made by whystall {version}; opens without a network.", "由 whystall {version} 生成；无需网络即可打开。"
    ),
    "download": Text("Download the diagnosis as JSON", "下载 JSON 诊断"),
    "details": Text("Details", "详情"),
}


def say(key: str, lang: str, **values: Any) -> str:
    """The phrase ``key`` in ``lang`` with its values put in. A key that is not there is a fault of ours: KeyError."""
    return PHRASES[key].in_(lang).format(**values)


def say_or(key: str, fallback: str, lang: str) -> str:
    """The phrase ``key`` in ``lang``, or ``fallback`` where data named something that has no phrase."""
    phrase = PHRASES.get(key)
    return phrase.in_(lang) if phrase else fallback
