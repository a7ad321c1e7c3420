import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import counter_page, http_server, pages
from whystall.cli import run
from whystall.sources.files.recording import read_recording


@pytest.fixture
def served() -> Iterator[object]:
    """Serves bodies from another thread, so that the verb can have the main one, as signals need."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    open_servers = []

    def serve(*bodies: str) -> str:
        server = http_server(pages(*bodies))
        open_servers.append(server)
        return asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)

    yield serve
    for server in open_servers:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_recording_and_what_comes_next(served, tmp_path: Path, capsys) -> None:
    url = served(counter_page(1), counter_page(2))
    assert run(["record", url, "-o", str(tmp_path / "r"), "--for", "300ms", "--interval", "100ms"]) == 0
    out = capsys.readouterr().out
    assert " scrapes" in out
    assert f"whystall diagnose {tmp_path / 'r'}" in out
    metrics = read_recording(tmp_path / "r").metrics
    assert len(metrics.times) + len(metrics.failed) == 4
    assert list(metrics.values[0])[:2] == [1.0, 2.0]


def test_redacted_and_in_chinese(served, tmp_path: Path, capsys) -> None:
    url = served(counter_page(1, label="acme"))
    options = ["--for", "100ms", "--interval", "100ms", "--redact", "--lang", "zh"]
    assert run(["record", url, "-o", str(tmp_path / "r"), *options]) == 0
    assert "次抓取" in capsys.readouterr().out
    assert read_recording(tmp_path / "r").metrics.keys[0].label("model_name") == "model-1"


def test_pages_of_several_servers_are_kept_and_told(served, tmp_path: Path, capsys) -> None:
    url = served(*(counter_page(1e6 * (n % 2) + n, start=1e9 + n % 2) for n in range(20)))
    assert run(["record", url, "-o", str(tmp_path / "r"), "--for", "300ms", "--interval", "50ms"]) == 0
    assert "2 servers in turn" in capsys.readouterr().err


def test_errors_have_their_exit_codes_and_leave_no_traceback(served, tmp_path: Path, free_port, capsys) -> None:
    assert run(["record", f":{free_port()}", "-o", str(tmp_path / "a")]) == 3
    assert run(["record", served("<html>"), "-o", str(tmp_path / "b")]) == 2
    assert run(["record", "ftp://x", "-o", str(tmp_path / "c")]) == 2
    (tmp_path / "d").write_text("a file")
    assert run(["record", served(counter_page(1)), "-o", str(tmp_path / "d")]) == 2
    err = capsys.readouterr().err
    assert err.count("hint:") == 4
    assert "Traceback" not in err


def test_pages_without_an_engine_are_told(served, tmp_path: Path, capsys) -> None:
    url = served("node_load1 0.5\n")
    options = ["-o", str(tmp_path / "r"), "--for", "100ms", "--interval", "100ms"]
    assert run(["record", url, *options]) == 0
    assert "--disable-log-stats" in capsys.readouterr().err
