"""--quantization: weights of fewer bits."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="quantization",
    group="compute",
    kind="text",
    what=Text(
        "How the weights are quantized, where the checkpoint does not say.", "权重的量化方式（检查点未指定时）。"
    ),
    spellings=(Spelling("--quantization"), Spelling("-q")),
    defaults=(Default("None", Text("as the checkpoint says", "以检查点为准")),),
    up=Text(
        "Smaller weights: a larger KV pool and less memory traffic in decoding; accuracy must be checked.",
        "权重更小：KV 池更大，解码访存更少；需检查精度。",
    ),
    raising={"kv": "better", "itl": "better", "throughput": "better"},
    treats=(Treatment("decode_bandwidth", "set"), Treatment("kv_capacity", "set"), Treatment("prefill_bound", "set")),
)
