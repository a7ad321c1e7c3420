from __future__ import annotations

import msgspec
import pytest

from kept_cases import FP8, closed_case, kv_diagnosis
from whystall.model.case import CaseStep, plain
from whystall.model.diagnosis import Coverage, Missing, Remedy
from whystall.model.text import Text
from whystall.reports.postmortem import postmortem


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


def test_what_was_kept_and_is_taken_back_on_demand_is_no_failure():
    kept = CaseStep("kept", 1.0, Text("it stays", "保留"))
    undone = closed_case("rolled_back", steps=(kept, CaseStep("rolled_back", 2.0, Text("taken back", "撤回"))))
    assert postmortem(undone, "en").outcome == "it helped, and was taken back on demand"
    assert postmortem(undone, "en").actions == ()
    assert postmortem(closed_case("rolled_back"), "en").outcome == "rolled back: it did not help"


def test_a_signal_that_was_missing_is_an_action():
    blind = Coverage(("metrics",), (Missing("gpu", ("gpu_throttle",), Text("run beside it", "在旁运行")),))
    case = closed_case("recovered", diagnosis=plain(msgspec.structs.replace(kv_diagnosis(), coverage=blind)))
    assert postmortem(case, "en").actions[-1] == "See more the next time: GPU (NVML) (run beside it)"
