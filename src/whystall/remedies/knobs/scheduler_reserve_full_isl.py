"""--scheduler-reserve-full-isl: admit a prompt only when it fits whole."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Spelling, Treatment

KNOB = Knob(
    id="scheduler_reserve_full_isl",
    group="scheduler",
    kind="switch",
    what=Text(
        "Admits a prompt only when all its blocks are free.",
        "仅当提示所需的全部块都空闲时才准入。",
    ),
    spellings=(Spelling("--scheduler-reserve-full-isl", since="0.19.0", off="--no-scheduler-reserve-full-isl"),),
    defaults=(Default("True"),),
    up=Text("Requests wait until they fit, and few are pushed out again.", "请求等到放得下才进入，很少再被挤出。"),
    down=Text(
        "A prompt enters with its first chunk: where blocks are short, admission runs ahead and preemption thrashes.",
        "提示凭第一块即可进入：块不足时会过度准入，引发抢占抖动。",
    ),
    raising={"throughput": "better", "ttft": "either"},
    treats=(Treatment("kv_capacity", "on"),),
    folk=(
        Folk(
            ("head_of_line_prompt",),
            Text(
                "switch scheduler_reserve_full_isl off so that prompts enter sooner",
                "关闭 scheduler_reserve_full_isl 让提示更早进入",
            ),
            Text(
                "they enter without room for the rest of the prompt and push each other out",
                "它们进入时没有剩余部分的空间，会互相挤出",
            ),
        ),
    ),
)
