"""``whystall mcp`` as an assistant meets it: the mcp package's own client, over standard input and output."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import jsonschema
import pytest

from kept_cases import closed_case, proven_case
from whystall.cases.book import Book
from whystall.cli import run
from whystall.cli.mcp import INSTALL
from whystall.reports.schema import schema

mcp = pytest.importorskip("mcp", reason="needs the mcp package")
SOURCE = Path(__file__).resolve().parents[2] / "src"


@asynccontextmanager
async def client(*argv: str, store: Path) -> AsyncIterator[mcp.Client]:
    arguments = ["-m", "whystall", "mcp", "--store", str(store), *argv]
    environment = {"PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(store.parent)}
    started = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=store.parent)
    async with mcp.Client(started) as connected:
        yield connected


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "cases.sqlite"
    with Book.open(path) as book:
        book.add(proven_case())
        book.add(closed_case("rolled_back"))
    return path


async def asked(connected: mcp.Client, tool: str, **arguments: object) -> dict:
    result = await connected.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_every_tool_answers_and_says_that_it_only_reads(store: Path, data: Path) -> None:
    before = store.read_bytes()
    async with client("--allow", str(data / "recordings"), store=store) as connected:
        tools = (await connected.list_tools()).tools
        assert {tool.name for tool in tools} == {
            "diagnose", "whatif", "cases", "case", "similar_cases", "postmortem", "explain",
        }  # fmt: skip
        assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
        recording = str(data / "recordings" / "seq_cap")
        found = await asked(connected, "diagnose", target=recording)
        answers = {
            "diagnosis": found,
            "cases": await asked(connected, "cases"),
            "case": await asked(connected, "case", id=1, lang="zh"),
            "similar": await asked(connected, "similar_cases", id=1),
            "explanation": await asked(connected, "explain", word="seat_cap"),
            "whatif": await asked(connected, "whatif", target=recording, change=["max-num-seqs=64"]),
        }
        page = await connected.call_tool("postmortem", {"id": 1})
    for name, body in answers.items():
        jsonschema.validate(body, schema(name), cls=jsonschema.Draft202012Validator)
    assert found["causes"][0]["id"] == "seat_cap"
    assert answers["whatif"]["predictions"][0]["change"] == {"--max-num-seqs": "64"}
    assert "## Five whys" in page.content[0].text
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("diagnose", {"target": "http://10.0.0.1:8000"}, "not among what may be read"),
        ("diagnose", {"target": "http://127.0.0.1.evil.example:80"}, "not among what may be read"),
        ("diagnose", {"target": "/etc"}, "not among what may be read"),
        ("diagnose", {"target": "file:///etc/passwd"}, "not among what may be read"),
        ("diagnose", {"target": "http://127.0.0.1:1", "seconds": 1e9}, "no time to look"),
        ("case", {"id": 99}, "no case 99"),
        ("explain", {"word": "kv_capacitty"}, "kv_capacity"),
    ],
)
async def test_what_cannot_be_done_is_said_by_name(tool, arguments, said, store: Path) -> None:
    async with client(store=store) as connected:
        result = await connected.call_tool(tool, arguments)
    assert result.is_error
    assert said in result.content[0].text
    assert "Traceback" not in result.content[0].text


def test_without_the_package_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert run(["mcp"]) == 2
    seen = capsys.readouterr()
    assert INSTALL in seen.err
    assert seen.out == ""


def test_a_recording_below_an_allowed_folder_and_no_way_out_of_it(data: Path, tmp_path: Path) -> None:
    from whystall.cli.assistant import Assistant
    from whystall.cli.reading import Asked
    from whystall.errors import Refused

    (tmp_path / "way_out").symlink_to("/etc")
    reads = Assistant(Asked(), tmp_path / "none.sqlite", (str(tmp_path),))
    for target in (str(tmp_path / "way_out"), str(tmp_path / ".." / "elsewhere"), "/"):
        with pytest.raises(Refused):
            reads.diagnose(target)
    assert json.loads(json.dumps(reads.cases()))["cases"] == []
