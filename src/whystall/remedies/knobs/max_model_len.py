"""--max-model-len: the longest request."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Folk, Knob, Legal, Spelling

KNOB = Knob(
    id="max_model_len",
    group="kv",
    kind="whole",
    what=Text(
        "Most tokens of one request, prompt and output together; longer ones are refused.",
        "单个请求（提示加输出）的最大 token 数；更长者被拒绝。",
    ),
    spellings=(Spelling("--max-model-len"),),
    defaults=(Default("the model's", Text("by the model's configuration", "取自模型配置")),),
    legal=Legal(low=1, choices=(Choice("auto"), Choice("-1"))),
    up=Text(
        "Longer requests are taken. It reserves nothing per request; the pool must hold one whole request.",
        "接受更长的请求。它不为每个请求预留空间；但块池必须能放下一个完整请求。",
    ),
    down=Text("Bounds the worst request; it does not enlarge the pool.", "限制最坏情况的请求；不会增大块池。"),
    raising={"kv": "either"},
    folk=(
        Folk(
            ("kv_capacity",),
            Text("lower max_model_len to free KV memory", "降低 max_model_len 以腾出 KV 显存"),
            Text(
                "nothing is reserved per request, so the pool stays as large as it is", "并不按请求预留，块池大小不变"
            ),
        ),
    ),
)
