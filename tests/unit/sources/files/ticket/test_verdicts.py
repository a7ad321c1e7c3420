"""Which comparisons stand."""

from whystall.sources.files.ticket.comparison import compared
from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.statements import statements_of
from whystall.sources.files.ticket.verdicts import contrasts_of


def features(symptoms, flags=(), window=True):
    ticket = Ticket(symptoms=symptoms, flags=flags)
    stated = statements_of(ticket)
    return [c.feature for c in contrasts_of(compared(stated), ticket, stated, window=window)]


def test_what_two_cases_show_comes_before_what_is_stated():
    assert features({"with_lora_tps": 10, "without_lora_tps": 20, "grammar_slowdown": 3}) == ["lora"]
    assert features({"fast": {"tps": 20}, "slow": {"tps": 10}, "grammar_slowdown": 3}) == ["structured_output"]


def test_more_than_adapters_of_a_small_rank_can_cost_has_another_reason():
    flags = ("--max-lora-rank 16",)
    assert features({"with_lora_tps": 10, "without_lora_tps": 20}, flags) == ["lora"]
    assert features({"with_lora_tps": 2, "without_lora_tps": 20}, flags) == [""]


def test_a_better_case_that_hangs_is_no_reference():
    two = {"output_tps_024": 900, "output_tps_023": 3000}
    assert features(two) == ["version"]
    assert features(two | {"deadlock_023": {"after_h": 3}}) == [""]


def test_a_loss_without_a_name_alone_is_nothing_to_weigh():
    assert features({"slowdown": 3}, window=False) == []
