from whystall.model.checkup import Check, Checkup
from whystall.model.text import Text
from whystall.reports.checkup import render_checkup

CHECKUP = Checkup(
    version="1.2",
    target="http://a:1",
    engine_version="0.26.0",
    installed=(Check("python", "ok", Text("3.11")),),
    reachable=(Check("/metrics", "failed", Text("nothing answers", "无响应"), Text("start it", "启动它")),),
    readable=(Check("log", "missing", Text("not named\x1b[31m")),),
    unknown_names=("vllm:new",),
)


def test_says_what_was_found_and_what_to_do() -> None:
    text = render_checkup(CHECKUP, "en")
    assert text.startswith("whystall 1.2 · http://a:1 · vLLM 0.26.0\n")
    assert "✘  /metrics  nothing answers" in text
    assert "→ start it" in text
    assert "vllm:new" in text
    assert "Signals" not in text  # a section without checks has no heading


def test_speaks_chinese() -> None:
    text = render_checkup(CHECKUP, "zh")
    assert "无响应" in text
    assert "→ 启动它" in text
    assert "可访问" in text


def test_no_escape_of_a_server_reaches_the_terminal() -> None:
    text = render_checkup(CHECKUP, "en")
    assert "\x1b" not in text
    assert "not named\\x1b[31m" in text
