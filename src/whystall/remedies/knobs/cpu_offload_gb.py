"""--cpu-offload-gb: weights in host memory."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Spelling

KNOB = Knob(
    id="cpu_offload_gb",
    group="kv",
    kind="number",
    what=Text(
        "GiB of weights a GPU that stay in host memory and cross PCIe in every step.",
        "每块 GPU 留在主机内存、每步经 PCIe 传输的权重（GiB）。",
    ),
    spellings=(Spelling("--cpu-offload-gb", since="0.5.0"),),
    defaults=(Default("0"),),
    legal=Legal(low=0),
    up=Text("A larger KV pool and a much worse ITL.", "KV 池更大，但 ITL 差得多。"),
    raising={"kv": "better", "itl": "worse", "throughput": "worse"},
    folk=(
        Folk(
            (),
            Text("offload weights to the CPU for a larger pool", "把权重卸载到 CPU 以扩大块池"),
            Text("every step then waits for PCIe", "此后每一步都要等 PCIe"),
        ),
    ),
)
