import msgspec

from comparisons import FIGURES, LEFT, ONE, SAME, SETTINGS, TTFT
from whystall.model.comparison import SettingChange
from whystall.reports.comparison_outline import answer_lines, comparison_tables, headline


def test_what_users_feel_is_named_before_the_part_of_it_that_grew_more():
    assert headline(ONE, "en").startswith("Most changed: TTFT, mean")
    assert headline(ONE, "zh") == "变化最大：TTFT 均值，A 为 45 ms，B 为 9.8 s（218×）"


def test_a_figure_that_was_nothing_has_no_ratio_to_name():
    nothing = msgspec.structs.replace(TTFT, a=0.0, ratio=None)
    assert (
        headline(msgspec.structs.replace(ONE, figures=(nothing,)), "en")
        == "Most changed: TTFT, mean, 0 s in A, 9.8 s in B"
    )


def test_only_from_the_start():
    comparison = msgspec.structs.replace(ONE, departures=LEFT[:1])
    assert answer_lines(comparison, "en")[1] == "Outside A's range from the start of B: prompt length"


def test_many_settings_are_cut_to_a_few():
    many = tuple(SettingChange(f"flag_{n}", "flag", "1", "2") for n in range(5))
    assert answer_lines(msgspec.structs.replace(ONE, configuration=many), "en")[2].endswith("and 2 more")


def test_a_long_value_is_whole_in_the_table_only():
    long = msgspec.structs.replace(ONE, configuration=(SettingChange("config", "flag", None, "x" * 200),))
    assert len(answer_lines(long, "en")[2]) < 120
    assert comparison_tables(long, "en")[1].rows[0][3] == "x" * 200


def test_tables_without_rows_are_left_out():
    assert [table.id for table in comparison_tables(SAME, "en")] == ["sides", "workload"]
    full = [table.id for table in comparison_tables(ONE, "en")]
    assert full == ["sides", "configuration", "workload", "latency", "throughput", "gpu", "departures"]


def test_every_figure_and_setting_has_a_row():
    tables = {table.id: table for table in comparison_tables(ONE, "en")}
    assert len(tables["configuration"].rows) == len(SETTINGS)
    assert sum(len(tables[group].rows) for group in ("workload", "latency", "throughput", "gpu")) == len(FIGURES)
    assert tables["departures"].rows[0][1] == "outside from the start"
    assert tables["departures"].rows[1][1].startswith("16 s · ")
