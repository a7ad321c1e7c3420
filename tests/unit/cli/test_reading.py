from pathlib import Path

import pytest

from whystall.cli.reading import Asked
from whystall.cli.settings import Settings, TargetEntry
from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.sources.live.access import Access

SETTINGS = Settings(
    slo="ttft_p95=2s",
    interval="5s",
    targets={"prod": TargetEntry(url="http://a:1", headers={"X": "1", "Y": "2"}, ca="~/ca.pem", slo="errors=0.01")},
)


def test_defaults() -> None:
    reading = Asked().of("http://a:1")
    assert (reading.target, reading.name) == ("http://a:1", "http://a:1")
    assert (reading.seconds, reading.interval_s, reading.access) == (30.0, 1.0, Access())
    assert (reading.slo, reading.protected) == (None, False)


def test_the_entry_fills_what_was_not_asked() -> None:
    reading = Asked(settings=SETTINGS, headers=(("X", "9"),)).of("prod")
    assert reading.target == "http://a:1"
    assert reading.access.headers == (("X", "9"), ("Y", "2"))
    assert reading.interval_s == 5.0
    assert reading.slo == Slo(errors_ratio=0.01)
    assert reading.access.ca == Path("~/ca.pem").expanduser()


def test_what_was_asked_wins() -> None:
    reading = Asked(settings=SETTINGS, interval_s=1.0, slo=Slo(e2e_p95_s=1.0), seconds=7.0).of("prod")
    assert (reading.interval_s, reading.slo, reading.seconds) == (1.0, Slo(e2e_p95_s=1.0), 7.0)


def test_token_by_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYSTALL_TOKEN", " from-environment\n")
    assert Asked().of("http://a").access.token == "from-environment"
    file = tmp_path / "token"
    file.write_text("from-file\n")
    assert Asked(token_file=file).of("http://a").access.token == "from-file"


def test_a_header_cannot_add_another() -> None:
    with pytest.raises(UsageError, match="line break"):
        Asked(headers=(("a", "b\r\nc: d"),)).of("http://a")


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "no single"), (b"a b", "no single"), (b"\xe4", "ASCII"), (None, "cannot be read")]
)
def test_refuses_a_file_without_a_token(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        Asked(token_file=file).of("http://a")


@pytest.mark.parametrize("target", ["", " "])
def test_an_empty_target_is_no_folder(target: str) -> None:
    with pytest.raises(UsageError, match="target is empty"):
        Asked().of(target)


def test_one_scrape_is_not_worth_the_wait() -> None:
    with pytest.raises(UsageError, match="shorter than the interval of 20 s"):
        Asked(seconds=10.0, interval_s=20.0).of("http://a:1")
    assert Asked(seconds=10.0, interval_s=10.0).of("http://a:1").seconds == 10.0


@pytest.mark.parametrize("target", ["incident", "./incident", "/srv/incident", "~/incident"])
def test_a_verb_for_servers_refuses_a_folder(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incident").mkdir()
    with pytest.raises(UsageError, match="is a file or folder, not a server") as refused:
        Asked().server(target)
    assert "whystall replay" in refused.value.hint
    assert Asked().of(target).target == target


@pytest.mark.parametrize("target", ["incident:8000", "http://incident", "host", ":8000"])
def test_a_server_beside_a_folder_of_its_name(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incident").mkdir()
    assert Asked().server(target).target == target
