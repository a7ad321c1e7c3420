from pathlib import Path

import pytest

from whystall.cli.settings import MAX_BYTES, Settings, TargetEntry, load_settings
from whystall.errors import UsageError

EXAMPLE = """
slo = "ttft_p95=1s"
interval = "2s"
lang = "zh"
protected = ["http://10.0.0.6:8000"]

[targets.prod]
url = "http://10.0.0.5:8000"
protected = true
headers = { X-Team = "a" }

[targets.spare]
url = "http://10.0.0.6:8000/"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "whystall.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_all_keys(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, EXAMPLE))
    assert (settings.slo, settings.interval, settings.lang) == ("ttft_p95=1s", "2s", "zh")
    assert settings.entry("prod") == settings.entry("http://10.0.0.5:8000/")
    assert settings.targets["prod"].headers == {"X-Team": "a"}
    assert settings.entry("http://elsewhere") is None


def test_reads_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(None) == Settings()
    written(tmp_path, 'lang = "zh"')
    assert load_settings(None).lang == "zh"


@pytest.mark.parametrize(
    ("target", "protected"),
    [
        ("prod", True),
        ("http://10.0.0.5:8000", True),
        ("spare", True),
        ("http://10.0.0.6:8000", True),
        ("HTTP://10.0.0.6:8000/", True),
        ("http://10.0.0.7:8000", False),
    ],
)
def test_protection_holds_by_name_and_by_address(tmp_path: Path, target: str, protected: bool) -> None:
    assert load_settings(written(tmp_path, EXAMPLE)).is_protected(target) is protected


def test_a_protected_name_protects_its_address() -> None:
    settings = Settings(protected=("prod",), targets={"prod": TargetEntry(url="http://a:1")})
    assert settings.is_protected("http://a:1/")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("protcted = []", "protcted: no such key", "Did you mean protected?"),
        ("zzz = 1", "zzz: no such key", "Known here: slo"),
        ('[targets.a]\nurl = "x"\ntoken_fil = "t"', "targets.a.token_fil: no such key", "Did you mean token_file?"),
        ("[targets.a]\nurl = 1", "targets.a.url: Expected `str`", "configuration.md"),
        ("[targets.a]\n", "targets.a: Object missing required field `url`", "configuration.md"),
        ("targets = 3", "targets: a table is needed", "[targets.NAME]"),
        ("[targets]\na = 3", "targets.a: Expected `object`", "configuration.md"),
        ("protected = [1]", "protected[0]: Expected `str`", "configuration.md"),
        ('slo = "ttft=1s"', "slo: the SLO names 'ttft'", "ttft_p95"),
        ('[targets.a]\nurl = "x"\nslo = "y"', "targets.a.slo: ", "ttft_p95"),
        ('interval = "often"', "interval: 'often'", "30s"),
        ('lang = "fr"', "lang: 'fr'", "en, zh"),
        ("a = = 1", "is not TOML", "configuration.md"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(written(tmp_path, text))
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_refuses_other_files(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.toml", tmp_path / "binary.toml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    binary.write_bytes(b"\xff\xfe")
    for path, message in ((large, "too large"), (binary, "not UTF-8"), (tmp_path, "cannot be read")):
        with pytest.raises(UsageError, match=message):
            load_settings(path)
