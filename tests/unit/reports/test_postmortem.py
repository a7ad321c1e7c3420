from __future__ import annotations

import msgspec
import pytest

from kept_cases import FP8, START, closed_case, kv_diagnosis, open_case
from whystall.cases.examples import example_cases
from whystall.model.case import CaseNote, Claim, plain
from whystall.model.diagnosis import Coverage, Missing, Remedy
from whystall.model.prediction import BindsNext, Interval, PredictedMetric, Prediction, ProfileUsed, Range
from whystall.model.text import Text
from whystall.model.trial import Effect, Guard, Trial, TrialArm
from whystall.reports.postmortem import postmortem
from whystall.reports.postmortem_text import POSTMORTEM_FORMATS, render_postmortem

EFFECT = Effect("ttft_p95", "s", "relative", "lower", -0.7, -0.6, -0.4, 8, 13.2, 5.1)
TRIAL = Trial(
    a=TrialArm("a"),
    b=TrialArm("b"),
    verdict="WIN",
    because=Text("TTFT fell by 60%", "TTFT 下降 60%"),
    primary="ttft_p95",
    minimum_effect=0.2,
    effects=(EFFECT,),
    guards=(Guard("itl_p95", 0.1, "holds", harm_mid=0.02),),
    pairs=8,
    seconds=480.0,
)
PREDICTION = Prediction(
    change=FP8.change,
    metrics=(PredictedMetric("ttft_p95", "s", 13.2, Interval(4.0, 6.0, 8.0), Range(-0.7, -0.55, -0.4)),),
    p_meets=0.97,
    p_harm=0.01,
    advice="recommend",
    because=Text("worth it", "值得"),
    binds_next=BindsNext("", Text("")),
    profile=ProfileUsed("h200-8b", "shipped", 0.05, Text("x")),
    draws=20,
)


def proven(**fields: object):
    return closed_case(**{"trial": plain(TRIAL), "prediction": plain(PREDICTION), "after": None, **fields})


def test_the_whys_are_numbered_with_their_numbers():
    page = postmortem(open_case(), "en")
    assert [(why.claim, [row.value for row in why.numbers]) for why in page.whys] == [
        ("TTFT is high because requests queue", ["12.8 s"]),
        ("They queue because no block is free", ["99%"]),
    ]


def test_a_step_that_did_not_hold_is_no_why():
    found = kv_diagnosis()
    first, *rest = found.causes[0].whys
    cause = msgspec.structs.replace(found.causes[0], whys=(msgspec.structs.replace(first, holds=False), *rest))
    case = closed_case(diagnosis=plain(msgspec.structs.replace(found, causes=(cause,))))
    assert [why.claim for why in postmortem(case, "en").whys] == ["They queue because no block is free"]


def test_the_proof_is_the_trial_with_its_interval_and_what_was_predicted():
    proof = postmortem(proven(), "en").proof
    assert proof.text == "WIN: TTFT fell by 60% (8 pairs of blocks, 8 min 0 s)"
    assert proof.effects is not None
    assert proof.effects.rows == (("TTFT p95", "13.2 s", "5.1 s", "-60%", "-70% to -40%", "-70% to -40%", "yes"),)
    assert proof.guards is not None
    assert proof.guards.rows[0][:2] == ("ITL p95", "✔ no regression")


def test_an_effect_outside_what_was_predicted_says_no():
    off = msgspec.structs.replace(TRIAL, effects=(msgspec.structs.replace(EFFECT, mid=-0.1),))
    effects = postmortem(proven(trial=plain(off)), "en").proof.effects
    assert effects is not None
    assert effects.rows[0][-1] == "no"


def test_what_is_not_proven_is_not_called_proven():
    assert postmortem(open_case(), "en").proof.text == "There is none: no change was tried."
    assert "not proven" in postmortem(closed_case(), "en").proof.text
    both = closed_case(after=plain(kv_diagnosis(verdict="healthy")))
    assert postmortem(both, "en").proof.text.startswith("Before and after, without a control")


def test_before_and_after_stand_side_by_side():
    case = closed_case(after=plain(kv_diagnosis()))
    seen = postmortem(case, "en").seen
    assert seen is not None
    assert seen.columns == ("Figure", "During", "After")
    assert ("TTFT p95", "13.2 s", "13.2 s") in seen.rows


def test_the_prediction_has_its_odds():
    done = postmortem(proven(), "en").done
    assert done.prediction is not None
    assert done.prediction.rows == (("TTFT p95", "13.2 s", "6 s", "4 s to 8 s"),)
    assert done.odds == "Chance that it is worth it 97%, chance of harm 1%."


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("open", "Try it: Store the KV cache in FP8"),
        ("not_changed", "Try it: Store the KV cache in FP8"),
        ("recovered", "It went away by itself: watch for its return."),
    ],
)
def test_the_actions_follow_from_the_outcome(outcome, said):
    assert postmortem(closed_case(outcome), "en").actions == (said,)


def test_a_kept_change_is_checked_again_where_a_baseline_was_saved():
    assert postmortem(closed_case(), "en").actions == ()
    assert "baseline" in postmortem(closed_case(baseline={"ttft_p95": 1.0}), "en").actions[0]


def test_after_a_rollback_the_next_candidate_and_after_first_aid_the_real_fix():
    more = Remedy("kv_capacity.add.replicas", Text("Add replicas", "增加副本"), cause="kv_capacity")
    found = plain(msgspec.structs.replace(kv_diagnosis(), remedies=(FP8, more)))
    rolled = closed_case("rolled_back", diagnosis=found)
    assert postmortem(rolled, "en").actions == ("It did not help; next candidate: Add replicas",)
    aid = closed_case(diagnosis=found, remedy=msgspec.structs.replace(FP8, aim="stop_bleeding"))
    assert postmortem(aid, "zh").actions == ("已做的只是应急；根治办法：增加副本",)


def test_a_signal_that_was_missing_is_an_action():
    blind = Coverage(("metrics",), (Missing("gpu", ("gpu_throttle",), Text("run beside it", "在旁运行")),))
    case = closed_case("recovered", diagnosis=plain(msgspec.structs.replace(kv_diagnosis(), coverage=blind)))
    assert postmortem(case, "en").actions[-1] == "See more the next time: GPU (NVML) (run beside it)"


@pytest.mark.parametrize("format", POSTMORTEM_FORMATS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_format_has_every_section(format, lang):
    claim = Claim(Text("halve the budget", "预算减半"), False, Text("it holds no memory", "它不占显存"))
    case = proven(claims=(claim,), notes=(CaseNote(START, "the new tenant"),))
    text = render_postmortem(case, format, lang)
    words = ("Five whys", "The proof", "Actions", "halve the budget", "the new tenant")
    chinese = ("五个为什么", "证明", "后续行动", "预算减半", "the new tenant")
    assert [word for word in (chinese if lang == "zh" else words) if word not in text] == []


@pytest.mark.parametrize("format", POSTMORTEM_FORMATS)
def test_what_a_case_holds_cannot_become_markup(format):
    attack = "<script>alert(1)</script>\x1b[31m[a](http://b) @team"
    case = closed_case(
        target=attack,
        headline=Text(attack),
        remedy=msgspec.structs.replace(FP8, text=Text(attack), change={attack: attack}),
        notes=(CaseNote(START, attack),),
        claims=(Claim(Text(attack), True, Text(attack)),),
    )
    text = render_postmortem(case, format)
    assert "\x1b" not in text
    if format != "text":
        outside_code = "".join(part for at, part in enumerate(text.split("`")) if at % 2 == 0)
        assert "<script>alert" not in outside_code
    if format == "markdown":
        assert "](http://b)" not in outside_code.replace("\\](http", "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_examples_say_what_is_right_and_wrong(lang):
    for case in example_cases():
        page = postmortem(case, lang)
        assert page.example
        assert page.claims is not None
        assert {row[1][0] for row in page.claims.rows} == {"✔", "✘"}
