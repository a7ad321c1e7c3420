"""--spec-model: the draft model."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="spec_model",
    group="compute",
    kind="text",
    what=Text("Draft model of speculative decoding, in place of the JSON.", "投机解码的草稿模型（代替 JSON）。"),
    spellings=(Spelling("--spec-model", since="0.32.0"),),
    defaults=(Default("None"),),
    up=Text("As --speculative-config.", "同 --speculative-config。"),
    raising={"itl": "either", "throughput": "either"},
)
