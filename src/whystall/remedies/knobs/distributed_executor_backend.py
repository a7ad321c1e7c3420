"""--distributed-executor-backend: who runs the workers."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="distributed_executor_backend",
    group="parallel",
    kind="text",
    what=Text(
        "Runs the workers as processes (mp), on Ray, or in the engine's own process (uni).",
        "以进程（mp）、Ray 或引擎进程内（uni）方式运行 worker。",
    ),
    spellings=(Spelling("--distributed-executor-backend", since="0.5.0"),),
    defaults=(Default("mp", Text("ray inside a placement group", "在 placement group 内为 ray")),),
    up=Text("ray is for several hosts; on one, mp has less overhead.", "ray 适用于多主机；单机上 mp 开销更小。"),
    raising={"itl": "either"},
)
