import json
import socket

import pytest

from whystall.cli import run
from whystall.cli.reading import Asked
from whystall.cli.settings import Settings, TargetEntry
from whystall.cli.watch import _greeter, interval_of, listening, watched
from whystall.errors import UsageError
from whystall.service import server
from whystall.service.settings import WatchSettings


def test_names_and_addresses():
    asked = Asked(settings=Settings(targets={"prod": TargetEntry(url="http://p:8000", slo="ttft_p95=1s")}))
    (prod,) = watched(asked, ())
    assert (prod.name, prod.target, prod.slo.ttft_p95_s) == ("prod", "http://p:8000", 1.0)
    assert [one.name for one in watched(asked, ("prod", "http://q:1", "http://q:1/"))] == ["prod", "q-1", "q-1-3"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (TargetEntry(url="k8s://LLM/x"), "names no namespace"),
        (TargetEntry(url="ray+http://h:8265?what=1"), "has no 'what'"),
        (TargetEntry(url="prometheus+http://h:9090?query=rate(x)"), "not a selector"),
        (TargetEntry(url="k8s://llm/vllm", log="/var/log/x"), "go with a server's own address"),
        (TargetEntry(url="ray+http://h:8265", dcgm="http://h:9400"), "go with a server's own address"),
    ],
)
def test_a_target_of_several_that_cannot_be_is_refused_at_the_start(entry, said):
    with pytest.raises(UsageError, match=said):
        watched(Asked(settings=Settings(targets={"many": entry})), ())


def test_nothing_to_watch_is_said():
    with pytest.raises(UsageError, match="nothing to watch"):
        watched(Asked(), ())


@pytest.mark.parametrize(
    ("text", "place"), [("127.0.0.1:9400", ("127.0.0.1", 9400)), ("[::1]:0", ("::1", 0)), ("off", ("", 0))]
)
def test_where_to_listen(text, place):
    assert listening(text) == place


@pytest.mark.parametrize("text", ["9400", "a:b", "a:99999", "a:²"])
def test_no_place_to_listen(text):
    with pytest.raises(UsageError, match="HOST:PORT"):
        listening(text)


def test_the_interval_is_asked_configured_or_usual():
    assert interval_of(Asked(interval_s=2.0)) == 2.0
    assert interval_of(Asked(settings=Settings(watch=WatchSettings(interval="10s")))) == 10.0
    assert interval_of(Asked()) == 5.0


def test_the_world_needs_a_token(capsys):
    assert run(["watch", "http://127.0.0.1:1", "--listen", "0.0.0.0:0", "--json"]) == 2
    assert "token" in json.loads(capsys.readouterr().out)["error"]


def test_a_server_that_is_not_there_is_an_incident(capsys, monkeypatch):
    monkeypatch.setattr(server, "LOST_SURELY", 1)  # a real one is waited for
    asked = ["watch", "http://127.0.0.1:1", "--listen", "off", "--for", "5s", "--interval", "100ms", "--json"]
    assert run(asked) == 1
    (line,) = capsys.readouterr().out.splitlines()
    happening = json.loads(line)
    assert (happening["what"], happening["incident"]["kind"]) == ("opened", "unreachable")


@pytest.mark.parametrize(
    ("count", "seconds", "url", "said"),
    [
        (1, 45.0, "", "watching 1 target for 45 s\n"),
        (2, None, "http://127.0.0.1:9400", "watching 2 targets; http://127.0.0.1:9400\n"),
    ],
)
def test_what_it_says_at_the_start(count, seconds, url, said, capsys):
    _greeter("en", count, seconds)(url)
    assert capsys.readouterr().err == said


def test_one_look_beside_the_daemon_needs_no_port_of_its_own(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "whystall.toml").write_text(f'[watch]\nlisten = "127.0.0.1:{port}"\n')
        assert run(["watch", "http://127.0.0.1:1", "--once", "--for", "1s"]) == 3  # nobody listens there
        said = capsys.readouterr().err
        assert "watching 1 target for 1 s" in said
        assert "127.0.0.1-1: could not tell: Unreachable: nothing answers" in said
        assert run(["watch", "http://127.0.0.1:1", "--once", "--for", "1s", "--listen", f"127.0.0.1:{port}"]) == 2
        assert "Address already in use" in capsys.readouterr().err
