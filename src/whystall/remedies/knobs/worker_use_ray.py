"""--worker-use-ray: gone, --distributed-executor-backend has it."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="worker_use_ray",
    group="removed",
    kind="switch",
    what=Text(
        "Ran the workers on Ray before there was --distributed-executor-backend.",
        "--distributed-executor-backend 出现之前用 Ray 运行 worker 的参数。",
    ),
    spellings=(Spelling("--worker-use-ray", until="0.6.6"),),
    up=Text("See --distributed-executor-backend.", "见 --distributed-executor-backend。"),
)
