import trial_samples as trials
from whystall.reports.trial_outline import answer_lines, headline, trial_tables


def test_the_tables_hold_what_was_measured():
    tables = {table.id: table for table in trial_tables(trials.trial(), "en")}
    assert list(tables) == ["effects", "guards", "findings", "warm_up", "blocks"]
    effects = {row[0]: row[1:] for row in tables["effects"].rows}
    assert effects["mean E2E"] == ("2 s", "1.7 s", "-15.0%", "-19.6% to -10.3%", "6")
    assert effects["TTFT p95"][2:4] == ("+40.0%", "–")
    assert ("TTFT p95", "-20.0% to +20.0%", "10% over 200 ms", "not shown") in tables["guards"].rows
    assert tables["blocks"].rows[1] == ("1", "B", "14:13:30 UTC", "40", "1", "not seen")
    assert tables["warm_up"].rows[1][-1] == "no"


def test_headline_and_lines_are_in_the_language_asked_for():
    assert headline(trials.trial()).en.startswith("WIN: ")
    lines = answer_lines(trials.trial(), "zh")
    assert len(lines) == 4
    assert "16 个提示中 12 个" in lines[3]
