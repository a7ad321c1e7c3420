import io
import socket
import sys
from pathlib import Path

import pytest

from whystall.cli.collecting import collect_spec, recording_of, shown_progress, told
from whystall.cli.reading import Asked
from whystall.errors import Unreachable
from whystall.sources.live.collector import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_spec_is_what_was_asked(tmp_path: Path) -> None:
    asked = Asked(seconds=7.0, interval_s=0.5, log=tmp_path / "log", server_args="vllm serve", headers=(("X", "1"),))
    spec = collect_spec(asked.of("http://a:1"))
    assert (spec.target, spec.seconds, spec.interval_s) == ("http://a:1", 7.0, 0.5)
    assert (spec.log, spec.server_args, spec.access.headers) == (tmp_path / "log", "vllm serve", (("X", "1"),))


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with shown_progress("en") as show:
        assert show is None


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress("en") as show:
        assert show is not None
        show(Progress(5.0, 10.0, 6, 0))
    assert "looking" in terminal.getvalue()


def test_failures_are_told() -> None:
    assert told(Progress(5.0, 10.0, 6, 0), "en") == "6 scrapes"
    assert told(Progress(5.0, 10.0, 6, 2), "en") == "6 scrapes, 2 failed"
    assert told(Progress(5.0, 10.0, 6, 2), "zh") == "6 次抓取，2 次失败"


@pytest.mark.parametrize(
    ("asked", "said"), [(Asked(), False), (Asked(seconds=10.0), True), (Asked(interval_s=2.0), True)]
)
def test_a_recording_is_read_whole_and_says_so(asked: Asked, said: bool, data: Path, capsys) -> None:
    folder = data / "recordings" / "healthy"
    recording_of(asked.of(str(folder)), "en")
    assert ("is read whole" in capsys.readouterr().err) == said


def test_a_server_that_does_not_answer_is_told_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "(APIServer pid=1) INFO 01-01 00:00:00 [x.py:1] non-default args: {'model': 'm'}\nEngineCore failed to start.\n"
    )
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: nobody can answer there
        target = f"http://127.0.0.1:{held.getsockname()[1]}"
        found = recording_of(Asked(log=log).of(target), "en")
        with pytest.raises(Unreachable):
            recording_of(Asked().of(target), "en")
    assert found.metrics.failed[0].error == "Unreachable"
    assert [line.text for line in found.log if line.text][-1] == "EngineCore failed to start."
