from whystall.profiles.capture import Facts, capture
from whystall.reports.capture import render_capture


def test_commands_stay_on_one_line() -> None:
    text = render_capture(capture("nsys", Facts()), "en", width=60)
    command = next(line for line in text.splitlines() if "nsys profile" in line)
    assert command.endswith("--profiler-config.profiler cuda")
    assert "The server must be restarted with this." in text


def test_in_chinese() -> None:
    assert "代价" in render_capture(capture("ncu", Facts()), "zh")
