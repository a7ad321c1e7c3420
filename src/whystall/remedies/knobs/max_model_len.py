"""--max-model-len: the longest request."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Folk, Knob, Legal, Rule, Spelling
from whystall.remedies.setup import Setup

# What changes the bytes of a token or the pool in a way that the start will have to find out.
_OPENS = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "decode_context_parallel_size",
    "block_size",
    "kv_cache_dtype",
    "quantization",
    "gpu_memory_utilization",
)


def _pool_blocks(setup: Setup) -> float | None:
    """Blocks of the pool after the changes, None where only the start will tell."""
    if setup.is_set("num_gpu_blocks_override"):
        return setup.number("num_gpu_blocks_override")
    blocks, pool = setup.number("num_gpu_blocks"), setup.configuration.kv_cache_bytes
    asked = setup.number("kv_cache_memory_bytes") if "kv_cache_memory_bytes" in setup.changes else None
    if "num_gpu_blocks_override" in setup.changes or any(name in setup.changes for name in _OPENS):
        return None
    return asked / (pool / blocks) if asked and pool and blocks else blocks


def _longest_does_not_fit(setup: Setup) -> bool | None:
    """One request of max_model_len must fit the pool, which holds back one block."""
    blocks, now = _pool_blocks(setup), setup.number("num_gpu_blocks")
    held, length = setup.number("kv_cache_tokens"), setup.number("max_model_len")
    size = held / now if held and now and "block_size" not in setup.changes else setup.number("block_size")
    if blocks is None or not size or not length:
        return None
    return (blocks - 1) * size < length


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
    needs=(
        Rule(
            "pool_holds_longest",
            Text(
                "the KV pool must hold one request of max_model_len",
                "KV 池必须能放下一个长度为 max_model_len 的请求",
            ),
            _longest_does_not_fit,
        ),
    ),
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
