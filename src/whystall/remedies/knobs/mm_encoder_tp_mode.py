"""--mm-encoder-tp-mode: the encoder over tensor-parallel ranks."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="mm_encoder_tp_mode",
    group="features",
    kind="choice",
    what=Text(
        "Splits the vision encoder by weights, or gives each rank whole images (data).",
        "视觉编码器按权重切分，或让每个 rank 处理整张图像（data）。",
    ),
    spellings=(Spelling("--mm-encoder-tp-mode", since="0.11.0"),),
    defaults=(Default("weights"),),
    legal=Legal(choices=(Choice("weights"), Choice("data"))),
    up=Text(
        "data needs no communication in the encoder and holds its weights on each rank.",
        "data 模式下编码器无需通信，但每个 rank 都保存其权重。",
    ),
    raising={"ttft": "either", "kv": "worse"},
)
