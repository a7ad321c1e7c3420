import msgspec
import pytest

import findings
from whystall.model.diagnosis import Cause, Evidence, Limit, Reproduced, Why
from whystall.model.text import Text
from whystall.reports.outlining_causes import cause_blocks, evidence_rows, limit_text, reproduced_text

DIAGNOSIS = findings.bottleneck().diagnosis


def one_why(claim, text):
    evidence = Evidence("e", 0.5, "s", 1.2, Text(text), "metrics")
    cause = Cause("seat_cap", 0.7, "limit", Text("s"), whys=(Why(Text(claim), ("e", "gone"), True),))
    diagnosis = msgspec.structs.replace(DIAGNOSIS, causes=(cause,), evidence=(evidence,))
    return cause_blocks(diagnosis, "en")[0].whys[0]


def test_a_why_carries_its_numbers():
    why = one_why("no seat is free", "seats were full")
    assert [(row.value, row.text) for row in why.numbers] == [("500 ms", "seats were full")]
    assert why.rejects == ""


def test_a_claim_that_quotes_its_evidence_is_not_said_twice():
    (number,) = one_why("no seat is free: seats were full", "seats were full").numbers
    assert (number.value, number.text) == ("500 ms", "")


@pytest.mark.parametrize(
    ("strength", "word"),
    [
        (1.5, "strongly for"),
        (0.5, "for"),
        (0.1, "neither way"),
        (0.0, "neither way"),
        (-0.5, "against"),
        (-1.5, "strongly against"),
        (float("nan"), "neither way"),
    ],
)
def test_strength_has_its_word(strength, word):
    evidence = Evidence("e", 1.0, "", strength, Text("t"), "metrics")
    (row,) = evidence_rows(msgspec.structs.replace(DIAGNOSIS, evidence=(evidence,)), "en")
    assert row.speaks == word
    assert row.neutral == (word == "neither way")


def test_a_limit_says_how_it_is_known():
    assert limit_text(Limit("max_num_seqs", 16, "inferred", "plateau"), "en") == "max_num_seqs = 16 (inferred, plateau)"
    assert limit_text(Limit("max_num_seqs", 16, "default"), "zh") == "max_num_seqs = 16（默认值）"
    assert limit_text(None, "en") == ""


def test_a_healthy_server_has_no_limit_that_binds():
    cause = Cause("low_demand", 0.9, "limit", Text("s"))
    healthy = msgspec.structs.replace(DIAGNOSIS, verdict="healthy", causes=(cause,))
    assert cause_blocks(healthy, "en")[0].role_word == "why it is not busy"


def test_titles_are_the_catalogues_and_chances_are_no_certainties():
    first, second = cause_blocks(DIAGNOSIS, "en")
    assert (first.title, first.chance, first.role) == ("KV cache too small", "93%", "limit")
    assert second.role_word == "trigger: what set it off"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Reproduced(0.95, 0.99, True, "ttft_mean_s", 0.95), ["reproduced", "95%", "99%"]),
        (Reproduced(0.3, 0.99, False, "ttft_mean_s", 0.97), ["not reproduced", "30%"]),
        (Reproduced(0.3, 0.99, False, "ttft_mean_s", 0.31), ["not reproduced", "makes 31%: the emulator is off"]),
        (Reproduced(2.3, 0.1, False, "ttft_mean_s", 2.4), ["not reproduced", "makes 240%: the emulator is off"]),
    ],
)
def test_what_the_emulator_says_and_where_it_is_off(found, words):
    text = reproduced_text(found, "en")
    assert all(word in text for word in words)
    assert ("is off" in text) == ("is off" in words[-1])
    assert reproduced_text(None, "zh") == ""
    assert "%" in reproduced_text(found, "zh")
