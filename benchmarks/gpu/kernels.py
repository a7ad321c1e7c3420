"""A few kernels of the kinds a model server runs, once each, between cudaProfilerStart and Stop, for Nsight Compute.

::

    ncu --profile-from-start off --clock-control none --set full -o kernels python benchmarks/gpu/kernels.py

``--clock-control none`` leaves the device's clocks as they are: it may be shared with others.
"""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention, silu

# Decode shapes of an 8B-class model: 32 sequences, 32 heads on 8 KV heads of 128, 1,024 tokens of context.
SEQUENCES, CONTEXT, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, INTERMEDIATE = 32, 1024, 32, 8, 128, 4096, 14336
PREFILL_TOKENS = 4096


def operands() -> dict[str, torch.Tensor]:
    """Random bf16 operands on the device; zeros would run faster than data does."""

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    return {
        "prompt": normal(PREFILL_TOKENS, HIDDEN),
        "batch": normal(SEQUENCES, HIDDEN),
        "weight": normal(HIDDEN, INTERMEDIATE),
        "query": normal(4, HEADS, CONTEXT, HEAD_DIM),
        "key": normal(4, HEADS, CONTEXT, HEAD_DIM),
        "value": normal(4, HEADS, CONTEXT, HEAD_DIM),
        "gate": normal(PREFILL_TOKENS, INTERMEDIATE),
        "table": normal(32_000, HIDDEN),
        "ids": torch.randint(0, 32_000, (PREFILL_TOKENS,), device="cuda"),
    }


def run(x: dict[str, torch.Tensor]) -> None:
    """The kernels: prefill GEMM, decode GEMM, attention, elementwise, transposed copy, gather, softmax."""
    x["prompt"] @ x["weight"]
    x["batch"] @ x["weight"]
    scaled_dot_product_attention(x["query"], x["key"], x["value"], is_causal=True)
    silu(x["gate"])
    x["gate"].t().contiguous()
    x["table"].index_select(0, x["ids"])
    torch.softmax(x["batch"].float(), dim=-1)


def main() -> None:
    """Once to load and tune, once to be profiled."""
    x = operands()
    run(x)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    run(x)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
