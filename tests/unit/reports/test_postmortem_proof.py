from __future__ import annotations

import msgspec

from kept_cases import EFFECT, TRIAL, closed_case, kv_diagnosis, open_case, proven_case
from whystall.model.case import plain
from whystall.model.trial import Guard
from whystall.reports.postmortem import postmortem


def test_the_proof_is_the_trial_with_its_interval_and_what_was_predicted():
    proof = postmortem(proven_case(), "en").proof
    assert proof.text == "WIN after 8 pairs of blocks in 8 min 0 s: TTFT fell by 60%"
    assert proof.effects is not None
    assert proof.effects.rows == (("TTFT p95", "13.2 s", "5.1 s", "-60%", "-70% to -40%", "-70% to -40%", "yes"),)
    assert proof.guards is not None
    assert proof.guards.rows[0][:2] == ("ITL p95", "✔ no regression")


def test_a_guard_in_points_says_so():
    guard = Guard("errors", 0.00338983, "holds", "points", harm_mid=0.0)
    guards = postmortem(proven_case(trial=plain(msgspec.structs.replace(TRIAL, guards=(guard,)))), "en").proof.guards
    assert guards is not None
    assert guards.rows == (("Errors", "✔ no regression", "+0.34 points", "+0 points"),)


def test_an_effect_outside_what_was_predicted_says_no():
    off = msgspec.structs.replace(TRIAL, effects=(msgspec.structs.replace(EFFECT, mid=-0.1),))
    effects = postmortem(proven_case(trial=plain(off)), "en").proof.effects
    assert effects is not None
    assert effects.rows[0][-1] == "no"


def test_what_is_not_proven_is_not_called_proven_case():
    assert postmortem(open_case(), "en").proof.text == "There is none: no change was tried."
    assert "not proven" in postmortem(closed_case(), "en").proof.text
    both = closed_case(after=plain(kv_diagnosis(verdict="healthy")))
    assert postmortem(both, "en").proof.text.startswith("Before and after, without a control")


def test_the_prediction_has_its_odds():
    done = postmortem(proven_case(), "en").done
    assert done.prediction is not None
    assert done.prediction.rows == (("TTFT p95", "13.2 s", "6 s", "4 s to 8 s"),)
    assert done.odds == "Chance that it is worth it 97%, chance of harm 1%."
