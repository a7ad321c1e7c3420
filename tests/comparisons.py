"""Comparisons written by hand, for the reports' tests."""

from __future__ import annotations

from whystall.model.comparison import Comparison, Departure, FigureChange, SettingChange, Side
from whystall.model.diagnosis import Engine, Onset, Window
from whystall.model.text import Text

A = Side("before", Engine(version="0.26.0", id="0", model="m"), Window(1_790_000_000.0, 1_790_000_050.0, 50.0))
B = Side("after", Engine(version="0.32.0", id="0", model="m"), Window(1_790_001_000.0, 1_790_001_065.0, 65.0))
TTFT = FigureChange(
    "ttft_mean", "latency", Text("TTFT, mean", "TTFT 均值"), "s", 0.045, 9.8, 9.8 / 0.045, True, "lower"
)
FIGURES = (
    FigureChange("arrival_rate", "workload", Text("arrivals", "到达率"), "req/s", 8.0, 7.8, 0.975, False),
    FigureChange("prompt_tokens", "workload", Text("prompt length", "提示长度"), "tokens", 512.0, 1024.0, 2.0, True),
    TTFT,
    FigureChange("queue_mean", "latency", Text("queue", "排队"), "s", 1e-5, 9.3, 930000.0, True, "lower"),
    FigureChange("output_rate", "throughput", Text("output", "输出"), "tok/s", 1000.0, 3000.0, 3.0, True, "higher"),
    FigureChange("gpu_power", "gpu", Text("power", "功耗"), "W", 515.0, None, None, False),
)
LEFT = (
    Departure("prompt_tokens", Text("prompt length", "提示长度"), None),
    Departure("waiting", Text("waiting", "等待"), Onset(16.0, 15.0, 16.0)),
    Departure("ttft_mean", Text("TTFT, mean", "TTFT 均值"), Onset(20.0, 19.0, 20.0)),
)
SETTINGS = (
    SettingChange("num_gpu_blocks", "limit", "58348", "2500"),
    SettingChange("max_model_len", "flag", None, "16384"),
)
ONE = Comparison(A, B, SETTINGS, FIGURES, LEFT)
SAME = Comparison(A, A, (), FIGURES[:1], ())
