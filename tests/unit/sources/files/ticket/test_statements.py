"""A tree of symptoms to figures by case, rows and lines."""

from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.statements import statements_of


def stated(symptoms, **workload):
    return statements_of(Ticket(symptoms=symptoms, workload=workload))


def cases(found):
    return {case.words: {slot: f.middle for slot, f in case.values.items()} for case in found.cases}


def test_common_figures_and_cases():
    found = stated({"ttft_before_s": 0.1, "ttft_after_s": 2, "gpu_util_pct": 90}, concurrency="1-8")
    assert cases(found) == {("before",): {"ttft": 0.1}, ("after",): {"ttft": 2.0}}
    assert found.common["gpu_util"].middle == 0.9
    assert found.common["in_flight"].high == 8


def test_rows_over_time_and_for_each_engine():
    rows = [{"t": "10:00:01", "running": 3, "waiting": None}, {"t": "10:00:11", "running": [1, 2]}]
    found = stated({"log_stats": rows})
    assert [row.t for row in found.rows] == [36001.0, 36011.0]
    assert found.rows[1].engines == {"running": (1.0, 2.0)}


def test_a_sweep_is_a_case_for_each_value():
    found = cases(stated({"concurrency": [1, 4], "tps": [20, 21]}))
    assert found[("in_flight=4",)] == {"in_flight": 4.0, "generation_tps": 21.0}


def test_faults_and_log_lines_are_lines():
    found = stated({"xid79_count": 6, "xid": 0, "log": "GC took 12ms to complete.", "mode": "eager"})
    assert found.lines == ("NVRM: Xid (PCI:0000:00:00): 79", "GC took 12ms to complete.")


def test_a_time_needs_a_unit():
    assert "ttft" not in stated({"ttft": 2}).common
    assert stated({"ttft": "2 s"}).common["ttft"].middle == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(st.sampled_from(["tps", "running", "c4_p99_ms", "log_stats", "stall_s", "seqs_8", "xid"]), VALUES)
)
def test_any_tree_is_read(symptoms):
    statements_of(Ticket(symptoms=symptoms, workload=symptoms))
