import msgspec

import findings
from whystall.model.diagnosis import Coverage, Identity, Missing, Range, Remedy, RuledOut
from whystall.model.text import Text
from whystall.reports.outlining_tables import tables


def of(lang="en", **changed):
    found = tables(msgspec.structs.replace(findings.bottleneck().diagnosis, **changed), lang)
    return {table.id: table for table in found}


def test_what_has_no_rows_has_no_table():
    assert "ruled_out" not in of(ruled_out=())


def test_causes_ruled_out_by_one_number_share_a_row():
    because = Text("nobody waits", "无人等待")
    found = of(
        ruled_out=(RuledOut("seat_cap", because), RuledOut("burst", Text("steady")), RuledOut("overload", because))
    )
    assert found["ruled_out"].rows == (("All seats taken, Overload", "nobody waits"), ("Bursts of requests", "steady"))


def test_a_remedy_says_flag_effect_and_restart_once():
    remedy = Remedy("r", Text("Use fp8."), {"--kv-cache-dtype": "fp8"}, {"ttft_p95": Range(-0.6, -0.5, -0.3)})
    table = of(remedies=(remedy,))["remedies"]
    assert table.rows == (("Use fp8 [--kv-cache-dtype fp8] (needs a restart)", "TTFT p95 -50% (-60% to -30%)"),)
    named = msgspec.structs.replace(remedy, text=Text("Use --kv-cache-dtype fp8"), restart=False)
    assert of(remedies=(named,))["remedies"].rows[0][0] == "Use --kv-cache-dtype fp8"


def test_a_column_in_which_nothing_stands_is_left_out():
    assert of(remedies=(Remedy("r", Text("Wait."), restart=False),))["remedies"].columns == ("Change",)
    missing = Missing("gpu", (), Text("install NVML"))
    assert of(coverage=Coverage((), (missing,)))["missing"].columns == ("Missing", "How to get it")


def test_an_identity_says_in_words_whether_it_holds():
    found = of(identities=(Identity("I1", 0.9264, False), Identity("I2", 1.0, True), Identity("I99", None, None)))
    rows = found["identities"].rows
    assert [row[2:] for row in rows] == [("0.926", "✘ no"), ("1.000", "✔ yes"), ("not seen", "– not testable")]
    assert "mean running" in rows[0][1]
    assert rows[2][1] == ""


def test_limits_say_how_they_are_known():
    assert of("zh")["limits"].rows[0] == ("num_gpu_blocks", "2,500", "服务器报告", "log")
