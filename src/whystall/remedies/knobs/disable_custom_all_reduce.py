"""--disable-custom-all-reduce: NCCL for small messages too."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="disable_custom_all_reduce",
    group="parallel",
    kind="switch",
    what=Text("Uses NCCL in place of vLLM's own all-reduce.", "用 NCCL 代替 vLLM 自带的 all-reduce。"),
    spellings=(Spelling("--disable-custom-all-reduce", off="--no-disable-custom-all-reduce"),),
    defaults=(Default("False"),),
    up=Text("Small messages take longer: a worse ITL with tensor parallelism.", "小消息更慢：张量并行下 ITL 变差。"),
    raising={"itl": "worse"},
    treats=(Treatment("comm_bound", "off"),),
)
