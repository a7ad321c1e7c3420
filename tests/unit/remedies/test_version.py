import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.remedies.version import is_newer, numbers, within


@pytest.mark.parametrize(
    ("version", "found"),
    [("0.26.0", (0, 26, 0)), ("0.26.1.dev3+g12ab", (0, 26, 1)), ("0.9", (0, 9)), ("", ()), ("nightly", ())],
)
def test_a_version_in_numbers(version, found):
    assert numbers(version) == found


@pytest.mark.parametrize(
    ("version", "since", "until", "inside"),
    [
        ("0.26.0", "0.26.0", "", True),
        ("0.25.9", "0.26.0", "", False),
        ("0.10.2", "0.9.1", "", True),  # by number, not by text
        ("0.17.1", "", "0.17.1", True),
        ("0.17.2", "", "0.17.1", False),
        ("0.32.0", "", "", True),
        ("", "", "", True),
        ("", "0.26.0", "", False),
        ("", "", "0.17.1", False),
    ],
)
def test_bounds_are_included_and_an_unknown_version_is_inside_none(version, since, until, inside):
    assert within(numbers(version), since, until) is inside


@given(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 9)))
def test_every_version_is_within_itself(version):
    text = ".".join(map(str, version))
    assert within(version, text, text)


def test_the_tables_end_at_a_version():
    assert not is_newer((0, 32, 9))
    assert is_newer((0, 33))
    assert not is_newer(())
