"""--max-num-active-seqs: fewer running sequences than seats."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import at_most

KNOB = Knob(
    id="max_num_active_seqs",
    group="scheduler",
    kind="whole",
    what=Text(
        "Most sequences that run, at or under max_num_seqs; graph captures stay as they are.",
        "实际运行的序列上限，不超过 max_num_seqs；graph 捕获不变。",
    ),
    spellings=(Spelling("--max-num-active-seqs", since="0.31.0"),),
    defaults=(Default("max_num_seqs"),),
    legal=Legal(low=1),
    needs=(
        Rule(
            "active_within_seats",
            Text("max_num_active_seqs must not be above max_num_seqs", "max_num_active_seqs 不得大于 max_num_seqs"),
            at_most("max_num_active_seqs", "max_num_seqs"),
        ),
    ),
    up=Text("As max_num_seqs, without its memory.", "与 max_num_seqs 相同，但不占其显存。"),
    down=Text("Fewer preemptions and a better ITL, and a longer queue.", "抢占更少、ITL 更好，但排队更长。"),
    raising={"ttft": "better", "throughput": "better", "itl": "worse"},
    treats=(Treatment("seat_cap", "raise"), Treatment("kv_capacity", "lower")),
)
