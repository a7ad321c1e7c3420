import pytest

from scenes import evidence_of


@pytest.mark.parametrize(
    ("phase", "value", "strong"), [({"mm": 2}, 2.0, True), ({"mm": 2, "mm_hits": 1.0}, 0.0, False)]
)
def test_what_has_to_be_prepared_for_a_request(phase: dict, value: float, strong: bool) -> None:
    found = evidence_of(phase)["mm.computed"]
    assert found.value == pytest.approx(value)
    assert (found.strength > 0.3) is strong


def test_text_alone_and_pages_that_do_not_tell() -> None:
    assert evidence_of({"mm": 0})["mm.computed"].strength == -0.3
    assert "mm.computed" not in evidence_of({})
