"""Stress and soak from the command line, against an emulated server on a fast clock."""

import asyncio
import json
import sys

import jsonschema
import pytest

from emulated import emulator
from whystall.cli import run
from whystall.cli.lab_load import soak_exit
from whystall.model.soak import Soak, SoakVerdict
from whystall.model.text import Text
from whystall.reports.schema import schema


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["stress", ":1", "--rate", "1", "--send-load"], "no SLO"),
        (["stress", ":1", "--slo", "ttft_p95=1s"], "nothing was sent without --send-load"),
        (["stress", ":1", "--slo", "ttft_p95=1s", "--clients", "3"], "nothing was sent"),
        (["soak", ":1", "--rate", "2", "--for", "3h"], "2 requests/s, 200-800 -> 100-300 tokens, for 3 h 0 min"),
        (["soak", ":1", "--send-load"], "the load is not given"),
        (["soak", ":1", "--send-load", "--rate", "1"], "nothing answers"),
    ],
)
def test_what_is_missing_is_named(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", *argv]) in (2, 3)
    assert told in capsys.readouterr().err


def test_exit_codes_of_a_soak() -> None:
    def code(verdict: SoakVerdict, attainment: float | None = None) -> int:
        return soak_exit(Soak("t", verdict, Text(""), (), (), 1, 0, 1.0, "", attainment))

    assert (code("steady"), code("steady", 0.96), code("steady", 0.9)) == (0, 0, 1)
    assert (code("worse"), code("failing"), code("too short")) == (1, 1, 3)
    assert (code("unclear"), code("unclear", 0.5)) == (3, 1)


async def told_by(*argv: str) -> tuple[int | None, dict[str, object]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "whystall", "lab", *argv, "--json", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return process.returncode, json.loads(out)


async def test_both_run_over_http() -> None:
    short = ("--send-load", "--prompt", "20-40", "--output-tokens", "5-10")
    async with emulator(speed=5.0, max_num_seqs=8) as (url, _):
        code, found = await told_by("stress", url, "--slo", "e2e_p95=1s", "--rate", "15", "--for", "70s", *short)
        assert code in (0, 3)
        jsonschema.validate(found, schema("stress"))
        assert found["points"] or (
            code == 3 and found["because"]
        )  # a busy machine may not get through one step in 70 s
        code, found = await told_by("soak", url, "--for", "50s", "--window", "7s", "--rate", "3", *short)
        assert code in (0, 1, 3)
        jsonschema.validate(found, schema("soak"))
        assert len(found["windows"]) >= 6  # type: ignore[arg-type]
