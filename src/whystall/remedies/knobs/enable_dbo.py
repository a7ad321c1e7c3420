"""--enable-dbo: two half batches, one computes while one communicates."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_dbo",
    group="parallel",
    kind="switch",
    what=Text(
        "Splits a batch in two, so that one half communicates while the other computes (MoE).",
        "把批次一分为二，一半通信时另一半计算（MoE）。",
    ),
    spellings=(Spelling("--enable-dbo", since="0.11.0", off="--no-enable-dbo"),),
    defaults=(Default("False"),),
    up=Text("Hides all-to-all at large batches; small ones get slower.", "大批量时隐藏 all-to-all；小批量会变慢。"),
    raising={"throughput": "either", "itl": "either"},
    treats=(Treatment("comm_bound", "on"),),
)
