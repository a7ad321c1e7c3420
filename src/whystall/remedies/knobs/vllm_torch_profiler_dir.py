"""VLLM_TORCH_PROFILER_DIR: gone, --profiler-config has it."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="vllm_torch_profiler_dir",
    group="removed",
    kind="text",
    what=Text(
        "Environment variables VLLM_TORCH_PROFILER_*, before there was --profiler-config.",
        "--profiler-config 出现之前的环境变量 VLLM_TORCH_PROFILER_*。",
    ),
    spellings=(Spelling("VLLM_TORCH_PROFILER_DIR", until="0.15.1"),),
    up=Text("See --profiler-config.", "见 --profiler-config。"),
)
