"""--api-server-count: API processes."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="api_server_count",
    group="parallel",
    kind="whole",
    what=Text("Processes that parse requests, tokenize and stream.", "负责解析请求、分词与流式输出的进程数。"),
    spellings=(Spelling("--api-server-count", since="0.9.1"), Spelling("-asc", since="0.9.1")),
    defaults=(Default("data_parallel_size"),),
    legal=Legal(low=1),
    up=Text(
        "Front-end work spreads over cores. Metrics move to multiprocess mode and the periodic line of the log stops.",
        "前端工作分摊到多核。指标切换到多进程模式，日志中的周期性统计行停止。",
    ),
    raising={"ttft": "better", "cpu": "worse"},
    treats=(Treatment("frontend_cpu", "raise"), Treatment("multimodal_preprocessing", "raise")),
)
