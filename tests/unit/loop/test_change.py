"""A change as it is shown keeps no secret and nothing that only restores it."""

import pytest

from loop_scenes import SEATS, few_seats, remedy
from whystall.loop.change import change_of, shown
from whystall.model.change import Change


async def test_the_journal_s_change_restores_and_the_shown_one_does_not() -> None:
    target = few_seats()
    plan = await target.plan(await target.snapshot(), SEATS)
    change = change_of(target, plan, remedy(SEATS), 7)
    assert (change.before, change.after) == (("--max-num-seqs", "8"), ("--max-num-seqs", "32"))
    assert (change.case, change.snapshot) == (7, plan.before.digest)
    assert change.saved
    assert shown(change).saved == ""
    secret = Change("i", "t", "process", {}, ("--api-key", "swordfish"), ("--api-key", "swordfish"), "", "", "")
    assert "swordfish" not in str(shown(secret))


@pytest.mark.parametrize(
    ("state", "ended"), [("planned", False), ("verifying", False), ("kept", True), ("failed", True)]
)
def test_what_has_ended(state: str, ended: bool) -> None:
    change = Change("i", "t", "process", {"--a": "1", "--b": ""}, (), (), "", "", "", state=state)  # type: ignore[arg-type]
    assert change.ended == ended
    assert change.in_words == "--a 1, without --b"
