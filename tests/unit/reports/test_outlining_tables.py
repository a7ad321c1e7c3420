import msgspec

import findings
from whystall.model.diagnosis import Coverage, Identity, Missing, NotOffered, Range, Remedy, RuledOut
from whystall.model.prediction import BindsNext, Prediction, ProfileUsed
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
    assert table.rows == (("Use fp8 (needs a restart)", "--kv-cache-dtype fp8", "TTFT p95 -50% (-60% to -30%)"),)
    named = msgspec.structs.replace(remedy, text=Text("Use --kv-cache-dtype fp8"), restart=False)
    assert of(remedies=(named,))["remedies"].rows[0][0] == "Use --kv-cache-dtype fp8"


def test_a_predicted_remedy_says_the_advice_and_what_tells_it():
    used = ProfileUsed("window", "fitted", 0.01, Text("fitted"))
    found = Prediction({}, (), 0.9, 0.0, "recommend", Text("it helps"), BindsNext("", Text("nothing")), used, 20)
    effect = {"ttft_p95": Range(-0.6, -0.5, -0.3), "e2e_p95": Range(-0.6, -0.5, -0.3)}
    remedy = Remedy("r", Text("Do."), {"--enable-dbo": "true"}, effect, restart=False, prediction=found)
    row = of("zh", remedies=(remedy,))["remedies"].rows[0]
    assert "建议、TTFT p95 -50%（-60% 至 -30%）" in row


def test_a_flag_is_shown_as_it_is_typed():
    change = {"--enable-dbo": "true", "--max-num-seqs": "96", "--enforce-eager": ""}
    for lang, words in (("en", "without --enforce-eager"), ("zh", "去掉 --enforce-eager")):
        row = of(lang, remedies=(Remedy("r", Text("Do."), change, restart=False),))["remedies"].rows[0]
        assert row[1] == f"--enable-dbo --max-num-seqs 96 {words}"


def test_a_chosen_remedy_says_what_it_is_and_buys():
    remedy = Remedy("r", Text("Do."), restart=False, kind="gateway", aim="stop_bleeding", buys=Text("time"))
    table = of(remedies=(remedy,))["remedies"]
    assert table.columns == ("Change", "Kind", "Buys")
    assert table.rows == (("Do.", "stops the bleeding, gateway", "time"),)


def test_what_is_not_offered_stands_once():
    against = NotOffered(Text("halve the budget"), Text("it is not what is short"))
    found = of(remedies=tuple(Remedy(id, Text("Do."), not_offered=(against,)) for id in "ab"))
    assert found["not_offered"].rows == (("halve the budget", "it is not what is short"),)


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
    assert of("zh")["limits"].rows[0] == ("num_gpu_blocks", "2,500", "服务器报告", "日志")
