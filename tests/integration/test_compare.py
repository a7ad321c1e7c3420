"""Two live servers, read at the same time."""

import asyncio
import json
import sys

import jsonschema

from whystall.reports.schema import schema
from whystall.sources.replay import serve_replay


async def test_two_live_servers_are_compared(data):
    recordings = data / "recordings"
    async with serve_replay(recordings / "healthy", speed=20) as a, serve_replay(recordings / "seq_cap", speed=20) as b:
        command = [sys.executable, "-m", "whystall", "compare", a, b, "--for", "30s", "--json", "--lang", "en"]
        process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    body = json.loads(out)
    jsonschema.validate(body, schema("comparison"))
    assert (body["a"]["target"], body["b"]["target"]) == (a, b)
    assert body["a"]["window"]["scrapes"] > 5
    assert body["b"]["window"]["scrapes"] > 5
    assert {one["id"] for one in body["figures"] if one["differs"]} >= {"prompt_tokens", "waiting"}


async def test_a_server_that_is_not_there_is_named(data, free_port):
    async with serve_replay(data / "recordings" / "healthy", speed=20) as a:
        gone = f"http://127.0.0.1:{free_port()}"
        command = [sys.executable, "-m", "whystall", "compare", a, gone, "--for", "5s", "--json"]
        process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)
        out, _ = await process.communicate()
    assert process.returncode == 3
    assert gone in json.loads(out)["error"]
