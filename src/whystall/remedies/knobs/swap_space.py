"""--swap-space: the swap of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Spelling

KNOB = Knob(
    id="swap_space",
    group="removed",
    kind="number",
    what=Text(
        "GiB of host memory to which V0 swapped preempted sequences; V1 recomputes them.",
        "V0 用于换出被抢占序列的主机内存（GiB）；V1 采用重算。",
    ),
    spellings=(Spelling("--swap-space", until="0.17.1"),),
    defaults=(Default("4"),),
    up=Text("Nothing in V1.", "在 V1 中毫无作用。"),
    folk=(
        Folk(
            ("kv_capacity",),
            Text("raise swap_space", "提高 swap_space"),
            Text(
                "V1 never swaps; from 0.18 on the flag is gone and ends the start",
                "V1 从不换出；自 0.18 起该参数已移除，会使启动失败",
            ),
        ),
    ),
)
