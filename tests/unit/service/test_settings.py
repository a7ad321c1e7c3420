from pathlib import Path

import pytest

from whystall.cli.settings import load_settings
from whystall.errors import UsageError
from whystall.service.settings import NoticeSettings

TEXT = """
[watch]
listen = "127.0.0.1:9400"
keep = "14d"

[[watch.silences]]
targets = ["lab*"]
days = ["sat", "sun"]
reason = "weekend"

[[watch.notices]]
kind = "slack"
url_env = "SLACK"
"""


def test_the_section_is_read(tmp_path: Path):
    path = tmp_path / "whystall.toml"
    path.write_text(TEXT)
    watch = load_settings(path).watch
    assert watch.silences[0].days == ("sat", "sun")
    assert watch.notices[0].kind == "slack"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[watch]\nkeep = "long"\n', "watch.keep"),
        ('[[watch.silences]]\nzone = "x"\n', r"watch.silences\[0\]"),
        ('[[watch.notices]]\nkind = "fax"\n', "fax"),
        ("[watch]\nlisen = 1\n", "lisen"),
        ('[[watch.notices]]\nkind = "slack"\nlang = "fr"\n', "lang"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text, named):
    path = tmp_path / "whystall.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=named):
        load_settings(path)


def test_secrets_come_from_the_environment_or_a_file(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text("abc\n")
    notice = NoticeSettings("pagerduty", key_file=str(file))
    assert notice.key({}) == "abc"
    assert notice.address({}).startswith("https://events.pagerduty.com")
    assert NoticeSettings("slack", url_env="S").address({"S": "https://hooks/x"}) == "https://hooks/x"


@pytest.mark.parametrize(
    "notice",
    [NoticeSettings("slack"), NoticeSettings("slack", url_env="UNSET"), NoticeSettings("slack", url="ftp://x")],
)
def test_no_url_is_named(notice):
    with pytest.raises(UsageError):
        notice.address({})


def test_pagerduty_needs_its_key():
    with pytest.raises(UsageError, match="routing key"):
        NoticeSettings("pagerduty").key({})
