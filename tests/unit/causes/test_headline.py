from whystall.causes.catalogue import catalogue
from whystall.causes.headline import headline
from whystall.model.diagnosis import Impact
from whystall.model.text import Text

NONE = Text("")


def told(verdict: str, impact: Impact, why: Text = NONE) -> Text:
    return headline(verdict, (), catalogue(), {}, impact, why)  # type: ignore[arg-type]


def test_a_healthy_one_has_its_figures() -> None:
    text = told("healthy", Impact(ttft_mean_s=0.044, itl_mean_s=0.005, queue_s=0.0))
    assert "44 ms" in text.en
    assert "5 ms" in text.en
    assert text.zh.startswith("健康")


def test_an_idle_one_says_what_it_waits_for() -> None:
    assert told("healthy", Impact(ttft_mean_s=2.5), Text("low demand", "需求不足")).en.endswith("; low demand")
    assert "no requests" in told("healthy", Impact()).en


def test_an_open_question_is_one() -> None:
    assert told("unknown", Impact(), Text("tokens come late")).en == "Could not tell: tokens come late"
