"""Tickets of our own, written as people write them: each kind of statement and the answer that its numbers decide."""

from pathlib import Path

import pytest
import yaml

from whystall.errors import TooLittleData
from whystall.pipeline import diagnose
from whystall.sources.files.ticket import read_ticket

FOLDER = Path(__file__).parents[4] / "data" / "tickets"


def answer(path):
    try:
        found = diagnose(read_ticket(path)).diagnosis
    except TooLittleData:
        return "not enough numbers"
    return found.causes[0].id if found.verdict == "bottleneck" else found.verdict


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_answer_is_the_expected_one(path):
    assert answer(path) == yaml.safe_load(path.read_text(encoding="utf-8"))["expected"]
