import msgspec
import pytest

import findings
from whystall.model.diagnosis import Cause, Coverage, Evidence, Missing, Onset, Remedy, Window
from whystall.model.text import Text
from whystall.reports.answer import answer, leading_cause, onset_text

DIAGNOSIS = findings.bottleneck().diagnosis
LIMIT = Cause("kv_capacity", 0.9, "limit", Text("full", "已满"), Onset(15.0, 13.0, 17.0))
TRIGGER = Cause("burst", 0.8, "trigger", Text("more", "更多"), Onset(14.0, 13.0, 15.0))


def said(lang="en", **changed):
    return answer(msgspec.structs.replace(DIAGNOSIS, **changed), lang)


def test_a_trigger_gives_the_onset():
    assert leading_cause((LIMIT, TRIGGER)) is TRIGGER
    assert said(causes=(LIMIT, TRIGGER)).since.startswith("Since 14 s")


def test_an_unlikely_trigger_set_nothing_off():
    doubtful = msgspec.structs.replace(TRIGGER, probability=0.3)
    assert leading_cause((LIMIT, doubtful)) is LIMIT
    assert said(causes=(LIMIT, doubtful)).since.endswith("no trigger seen.")


def test_a_trigger_without_an_onset_is_named_all_the_same():
    found = said(causes=(LIMIT, msgspec.structs.replace(TRIGGER, onset=None)))
    assert found.since.startswith("Since 15 s")
    assert found.since.endswith("set off by bursts of requests.")


def test_what_was_there_from_the_start_has_no_time():
    found = said(causes=(msgspec.structs.replace(LIMIT, onset=None),))
    assert found.since.startswith("There from the start of the window;")
    assert onset_text(None, "zh") == "一开始就有"


def test_without_a_remedy_the_catalogue_says_what_to_do():
    assert "fp8 KV cache" in said(remedies=()).first


def test_a_cause_that_the_catalogue_lacks_is_explained_on_demand():
    found = said(remedies=(), causes=(msgspec.structs.replace(LIMIT, id="not_yet_known"),))
    assert found.first == "Do first: run `whystall explain not_yet_known` for what it is"


@pytest.mark.parametrize(("restart", "tail"), [(True, "wait (needs a restart)"), (False, "wait.")])
def test_a_restart_is_announced(restart, tail):
    found = said(remedies=(Remedy("r", Text("wait."), restart=restart),))
    assert (found.first + found.note).endswith(tail)


def test_unknown_says_what_would_settle_it():
    coverage = Coverage((), (Missing("gpu", (), Text("install NVML", "安装 NVML")),))
    assert said(verdict="unknown", remedies=(), coverage=coverage).first == "Do first: install NVML"
    assert said("zh", verdict="unknown", remedies=(), coverage=coverage).first == "首先：安装 NVML"
    assert "watch" not in said(verdict="unknown", remedies=(), coverage=coverage).first
    assert "--for" in said(verdict="unknown", remedies=(), coverage=Coverage()).first


def test_a_short_look_is_first_of_all_too_short():
    coverage = Coverage((), (Missing("gpu", (), Text("install NVML", "安装 NVML")),))
    short = Window(0.0, 3.0, 3.0, 4)
    assert said(verdict="unknown", remedies=(), coverage=coverage, window=short).first.startswith(
        "Do first: watch for longer: --for 120s"
    )


def test_the_verdict_is_not_said_twice():
    found = said(verdict="healthy", headline=Text("Healthy: TTFT 44 ms", "健康：TTFT 44 ms"))
    assert (found.word, found.headline) == ("healthy", "TTFT 44 ms")
    assert said("zh", verdict="healthy", headline=Text("x", "健康：延迟低")).headline == "延迟低"


def test_a_trigger_that_comes_first_says_where_it_led():
    lost = msgspec.structs.replace(TRIGGER, id="prefix_cache_loss")
    bound = msgspec.structs.replace(LIMIT, id="prefill_bound")
    assert said(causes=(lost, bound)).since.endswith("; it led to prefill capacity used up.")
    assert said(causes=(lost,)).since.endswith("14:13:34 UTC.")


def test_a_healthy_server_needs_no_restart():
    assert said(verdict="healthy").note == ""


def test_a_surge_set_it_off_where_no_cause_did():
    text = Text("128 requests came at once", "一次来了 128 个请求")
    surge = Evidence("requests.surge", 8.0, "x", 1.0, text, "metrics", anomaly=True)
    found = said(causes=(LIMIT,), evidence=(surge,))
    assert found.since.endswith("; set off by 8× the usual arrivals.")
    longer = Text("prompts are 900 tokens long", "提示长 900 个 token")
    change = Evidence("prompts.longer", 3.0, "x", 1.0, longer, "metrics", anomaly=True)
    assert said(causes=(LIMIT,), evidence=(change,)).since.endswith("; since then prompts are 3× as long.")
    usual = msgspec.structs.replace(surge, anomaly=False)
    assert said(causes=(LIMIT,), evidence=(usual,)).since.endswith("; no trigger seen.")
