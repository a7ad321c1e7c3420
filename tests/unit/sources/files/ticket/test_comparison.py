"""Which case is the incident, and what the two differ in."""

from whystall.sources.files.ticket.comparison import compared
from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.statements import statements_of


def of(symptoms, **workload):
    return compared(statements_of(Ticket(symptoms=symptoms, workload=workload)))


def test_the_worse_case_is_the_incident_and_what_it_is_named_for_the_contrast():
    found = of({"guided": {"tps": 70}, "plain": {"tps": 800}}, concurrency=100)
    assert found.incident["generation_tps"].middle == 70
    assert found.reference["generation_tps"].middle == 800
    assert [(c.feature, round(c.ratio, 1)) for c in found.contrasts] == [("structured_output", 11.4)]


def test_what_the_better_case_denies_is_what_the_worse_has():
    assert [c.feature for c in of({"tps_with_lora": 5, "tps_without_lora": 27}).contrasts] == ["lora"]
    assert [c.feature for c in of({"graph_none": {"tpot_ms": 34}, "piecewise": {"tpot_ms": 12}}).contrasts] == ["eager"]


def test_a_difference_without_a_name_is_told_and_not_explained():
    assert [c.feature for c in of({"fast": {"tps": 30}, "slow": {"tps": 15}}, concurrency=1).contrasts] == [""]


def test_another_load_is_no_contrast():
    found = of({"table": [{"ctx": 100, "guided_tps": 500}, {"ctx": 8000, "tps": 20}]})
    assert found.contrasts == ()


def test_a_hop_between_is_the_clients_view():
    found = of({"direct": {"ttft_s": 0.7}, "proxy": {"ttft_s": 10}})
    assert found.incident["ttft"].middle == 0.7
    assert found.beside["ttft"].middle == 10


def test_figures_that_contradict_compare_nothing():
    found = of({"a": {"tpot_ms": 17, "tps": 57}, "b": {"tpot_ms": 29, "tps": 135}})
    assert found.reference is None


def test_speeds_are_taken_for_each_request_in_flight():
    found = of({"c16": {"rps": 5.5}, "c32": {"rps": 5.6}})
    assert found.incident["in_flight"].middle == 32


def test_a_first_run_that_is_slower_than_its_repeat():
    found = of({"first": {"ttft_s": 19}, "second": {"ttft_s": 0.1}})
    assert [c.feature for c in found.contrasts] == ["first_run"]


def test_versions_that_the_engine_calls_good_and_bad():
    stated = statements_of(Ticket(symptoms={"good_tps": 126, "bad_tps": 18}))
    assert [c.feature for c in compared(stated, "0.21 good; 0.22 bad").contrasts] == ["version"]
    assert [c.feature for c in compared(stated, "0.22").contrasts] == [""]


def test_a_healthy_case_alone_is_no_incident():
    assert "ttft" not in of({"baseline": {"ttft_s": 0.02}}, concurrency=32).incident
