"""--max-num-partial-prefills: concurrent partial prefills of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Rule, Spelling
from whystall.remedies.setup import Setup


def _not_in_v1(setup: Setup) -> bool | None:
    """V1 refused to start with anything but the default."""
    if not setup.is_set("max_num_partial_prefills"):
        return False
    value = setup.number("max_num_partial_prefills")
    return None if value is None else value != 1


KNOB = Knob(
    id="max_num_partial_prefills",
    group="removed",
    kind="whole",
    what=Text(
        "Prompts that V0 computed in pieces at the same time. V1 always refused another value than 1.",
        "V0 同时分块计算的提示数。V1 一直拒绝 1 以外的值。",
    ),
    spellings=(Spelling("--max-num-partial-prefills", since="0.8.5", until="0.26.0"),),
    defaults=(Default("1"),),
    needs=(
        Rule(
            "partial_prefills_in_v1",
            Text("V1 refuses max_num_partial_prefills other than 1", "V1 拒绝 1 以外的 max_num_partial_prefills"),
            _not_in_v1,
        ),
    ),
    up=Text("V1 does not start with it.", "V1 无法以其启动。"),
    folk=(
        Folk(
            ("head_of_line_prompt",),
            Text("raise max_num_partial_prefills", "提高 max_num_partial_prefills"),
            Text("V1 refused to start with it, and it is gone by 0.28", "V1 会拒绝启动，且该参数在 0.28 已移除"),
        ),
    ),
)
