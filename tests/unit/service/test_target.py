import pytest

from whystall.service.target import short_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("http://a:8000", "a-8000"),
        ("prod", "prod"),
        ("https://user:secret@a/x y?token=t", "a-x-y"),
        ("../../etc", "..-..-etc"),
        ("", "target"),
    ],
)
def test_names_stand_in_a_path_and_hold_no_secret(text, name):
    assert short_name(text) == name
