"""Recordings without a page."""

from whystall.model.recording import Contrast
from whystall.pipeline import diagnose
from whystall.sources.files.ticket.alone import decided, lines, without_page
from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.statements import statements_of


def stated(**symptoms):
    return statements_of(Ticket(symptoms=symptoms))


def test_figures_of_a_failed_allocation_are_a_line_that_decides():
    assert decided(stated(free_mib=100, alloc_mib=300))
    assert not decided(stated(free_mib=500, alloc_mib=300))
    assert list(lines(stated(gc_collect_s=4))) == ["GC took 4000.000ms to complete."]


def test_a_comparison_alone_is_diagnosed():
    found = diagnose(without_page(stated(), (Contrast("lora", "stated", 4.0),), (), "t", "")).diagnosis
    assert [cause.id for cause in found.causes] == ["lora_swapping"]
    assert found.impact.tokens_per_s is None
    assert "metrics" not in found.coverage.signals


def test_a_comparison_of_nothing_named_is_unknown():
    assert diagnose(without_page(stated(), (Contrast("", "stated", 4.0),), (), "t", "")).diagnosis.verdict == "unknown"
