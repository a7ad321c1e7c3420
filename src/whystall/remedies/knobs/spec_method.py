"""--spec-method: the speculative method by name."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="spec_method",
    group="compute",
    kind="text",
    what=Text(
        "Method of speculative decoding, in place of the JSON: ngram, eagle3, mtp and others.",
        "投机解码方法（代替 JSON）：ngram、eagle3、mtp 等。",
    ),
    spellings=(Spelling("--spec-method", since="0.32.0"),),
    defaults=(Default("None"),),
    up=Text("As --speculative-config.", "同 --speculative-config。"),
    raising={"itl": "either", "throughput": "either"},
)
