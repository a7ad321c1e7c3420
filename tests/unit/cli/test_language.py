import pytest

from whystall.cli.language import language
from whystall.errors import UsageError


@pytest.mark.parametrize(
    ("asked", "configured", "environ", "answer"),
    [
        ("en", "zh", {"WHYSTALL_LANG": "zh", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, "en", {"WHYSTALL_LANG": "zh"}, "zh"),
        (None, "zh", {"LANG": "en_GB.UTF-8"}, "zh"),
        (None, "", {"LANG": "zh_TW.UTF-8"}, "zh"),
        (None, "", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        (None, "", {"LANG": "de_DE.UTF-8"}, "en"),
        (None, "", {}, "en"),
    ],
)
def test_the_first_that_says_so_wins(asked: str | None, configured: str, environ: dict[str, str], answer: str) -> None:
    assert language(asked, configured, environ) == answer


def test_refuses_an_unknown_one() -> None:
    with pytest.raises(UsageError, match="fr"):
        language(None, "", {"WHYSTALL_LANG": "fr"})
