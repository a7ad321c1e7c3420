import json

from whystall.cli import run


def test_a_cause_is_explained(capsys):
    assert run(["explain", "kv_capacity"]) == 0
    assert capsys.readouterr().out.startswith("KV cache too small (kv_capacity)")


def test_a_metric_is_explained_in_chinese(capsys):
    assert run(["explain", "TTFT", "--lang", "zh"]) == 0
    assert "首个 token" in capsys.readouterr().out


def test_json(capsys):
    assert run(["explain", "burst", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cause"]["id"] == "burst"


def test_an_unknown_word_exits_2_and_offers_the_nearest(capsys):
    assert run(["explain", "seatcap"]) == 2
    assert "seat_cap" in capsys.readouterr().err


def test_an_unknown_word_under_json_is_an_error_object(capsys):
    assert run(["explain", "seatcap", "--json"]) == 2
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "whystall.error/1"
    assert "seat_cap" in body["hint"]


def test_the_width_asked_for_is_kept(capsys):
    assert run(["explain", "burst", "--width", "50"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


def test_a_width_that_no_text_fits_is_refused(capsys):
    assert run(["explain", "burst", "--width", "3"]) == 2
    assert "--width" in capsys.readouterr().err


def test_a_flag_is_explained_as_it_is_written(capsys):
    assert run(["explain", "--max-num-seqs"]) == 0
    assert capsys.readouterr().out.startswith("--max-num-seqs (max_num_seqs)")
    assert run(["explain", "max_num_seqs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["knob"]["treats"]["seat_cap"] == "raise"


def test_an_unknown_flag_is_answered_with_the_nearest(capsys):
    assert run(["explain", "--max-num-seq"]) == 2
    assert "max_num_seqs" in capsys.readouterr().err
