"""--attention-backend: which attention kernels run."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="attention_backend",
    group="compute",
    kind="text",
    what=Text(
        "Attention kernels: FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLASHMLA and others; picked by platform.",
        "注意力内核：FLASH_ATTN、FLASHINFER、TRITON_ATTN、FLASHMLA 等；按平台选择。",
    ),
    spellings=(Spelling("--attention-backend", since="0.13.0"),),
    defaults=(Default("None"),),
    up=Text(
        "A backend that the GPU, the model or the KV type does not support ends the start.",
        "GPU、模型或 KV 类型不支持的后端会使启动失败。",
    ),
    raising={"itl": "either", "ttft": "either"},
)
