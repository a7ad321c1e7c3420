"""--max-long-partial-prefills: long prompts among them, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Rule, Spelling
from whystall.remedies.setup import Setup


def _not_in_v1(setup: Setup) -> bool | None:
    """V1 refused to start with anything but the default."""
    if not setup.is_set("max_long_partial_prefills"):
        return False
    value = setup.number("max_long_partial_prefills")
    return None if value is None else value != 1


KNOB = Knob(
    id="max_long_partial_prefills",
    group="removed",
    kind="whole",
    what=Text("Long prompts among those that V0 computed at the same time.", "V0 同时计算的提示中长提示的数量。"),
    spellings=(Spelling("--max-long-partial-prefills", since="0.8.5", until="0.26.0"),),
    defaults=(Default("1"),),
    needs=(
        Rule(
            "long_partial_prefills_in_v1",
            Text("V1 refuses max_long_partial_prefills other than 1", "V1 拒绝 1 以外的 max_long_partial_prefills"),
            _not_in_v1,
        ),
    ),
    up=Text("V1 does not start with it.", "V1 无法以其启动。"),
)
