"""--enable-layerwise-nvtx-tracing: layers in Nsight."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_layerwise_nvtx_tracing",
    group="observability",
    kind="switch",
    what=Text("Marks layers for Nsight Systems.", "为 Nsight Systems 标记各层。"),
    spellings=(Spelling("--enable-layerwise-nvtx-tracing", since="0.13.0", off="--no-enable-layerwise-nvtx-tracing"),),
    defaults=(Default("False"),),
    up=Text("A hook for each layer: not for production.", "每层一个钩子：不适合生产环境。"),
    raising={"itl": "worse", "cpu": "worse"},
    treats=(Treatment("observability_overhead", "off"),),
)
