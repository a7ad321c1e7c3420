from whystall.model.load import Cohort, Holder, Lagged, Who
from whystall.model.text import Text
from whystall.reports.load_tables import cohorts_table, lags_table, who_table

WHO = Who(
    "spans",
    30.0,
    0.83,
    (
        Holder("request", "cmpl-1", 1, 9000.4, 0.9, 4000.0, 0.8),
        Holder("tenant", "a\x1b[31m", 3, 1000.0, 0.1, 1000.0, 0.2),
    ),
)


def test_holders_by_kind_with_shares_and_the_source_below() -> None:
    table = who_table(WHO, "en")
    assert table.rows[0] == ("request", "cmpl-1", "1", "9,000", "90%", "4,000", "80%")
    assert table.note == "from spans, over the 30 s of the incident; 83% of the KV in use is shown"
    assert "\x1b" not in table.rows[1][1]
    assert who_table(WHO, "zh").title != table.title


def test_columns_that_the_page_alone_cannot_fill_are_left_out() -> None:
    holder = Holder("lengths", "257-1024", 12, None, None, 9000.0, 1.0)
    table = who_table(Who("metrics", 30.0, None, (holder,)), "en")
    assert len(table.columns) == len(table.rows[0]) == 5
    assert who_table(None, "en").rows == ()


def test_cohorts_with_shares_and_rates() -> None:
    found = (Cohort("prompt", 2000.0, 5000.0, 0.0, 0.5, 0.0, 2.0), Cohort("output", 500.0, None, 0.2, 0.0, 1.0, 0.0))
    table = cohorts_table(found, "en")
    assert table.rows[0] == ("prompts of 2,001–5,000 tokens", "0% (0/s)", "50% (2/s)")
    assert table.rows[1][0] == "outputs of >500 tokens"


def test_a_lag_says_that_it_is_no_proof() -> None:
    pair = Lagged("kv_usage", Text("KV usage", "使用率"), "itl", Text("ITL", "间隔"), 5.0, -0.81, 60)
    table = lags_table((pair,), "en")
    assert table.rows == (("KV usage", "ITL", "5 s", "-0.81"),)
    assert "need not cause" in table.note
