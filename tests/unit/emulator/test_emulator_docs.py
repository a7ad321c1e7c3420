"""The page about the emulator names every fault, and every cause that has none."""

from __future__ import annotations

from pathlib import Path

from whystall.emulator.server.faults import FAULTS, WITHOUT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "emulator.md"


def between(mark: str) -> str:
    return PAGE.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0]


def test_the_table_of_faults_is_that_of_the_code() -> None:
    assert between("faults") == "".join(f"| `{fault.id}` | {fault.mechanism} |\n" for fault in FAULTS.values())


def test_causes_without_a_fault_are_named_with_the_reason() -> None:
    assert between("without") == "".join(f"- `{cause}`: {why}\n" for cause, why in WITHOUT.items())
