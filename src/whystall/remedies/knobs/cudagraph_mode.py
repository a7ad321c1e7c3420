"""-cc.cudagraph_mode: which steps run as graphs."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="cudagraph_mode",
    group="compute",
    kind="choice",
    what=Text(
        "Which steps are replayed as CUDA graphs; FULL needs the attention backend's support.",
        "哪些步以 CUDA graph 重放；FULL 需要注意力后端支持。",
    ),
    spellings=(Spelling("-cc.cudagraph_mode", since="0.10.2"),),
    defaults=(
        Default(
            "FULL_AND_PIECEWISE",
            Text("where compilation is on; NONE with --enforce-eager", "编译开启时；--enforce-eager 时为 NONE"),
        ),
    ),
    legal=Legal(
        choices=(
            Choice("NONE"),
            Choice("PIECEWISE"),
            Choice("FULL"),
            Choice("FULL_DECODE_ONLY"),
            Choice("FULL_AND_PIECEWISE"),
        )
    ),
    up=Text(
        "NONE makes decoding bound by launches; the others differ in memory and start-up time.",
        "NONE 会使解码受启动限制；其余取值在显存与启动时间上不同。",
    ),
    raising={"itl": "either", "start": "either", "memory": "either"},
    treats=(Treatment("launch_bound", "off"),),
)
