"""A recording holds what a live diagnosis would see: GPUs of an exporter, spans, the kernel's lines."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from pathlib import Path

from aiohttp import web

from emulated import emulator
from servers import http_server
from whystall.sources.files.recording import read_recording

KERNEL = "NVRM: Xid (PCI:0000:18:00): 79, pid=1234, name=python3, GPU has fallen off the bus.\n"


async def recorded(folder: Path, url: str, *more: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "whystall", "record", url, "-o", str(folder), *more]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, told = await process.communicate()
    return process.returncode or 0, told.decode()


async def test_exporter_spans_and_kernel_are_in_the_folder(tmp_path: Path, free_port) -> None:
    listen, kernel = f"127.0.0.1:{free_port()}", tmp_path / "kernel.log"
    kernel.write_text(f"{time.strftime('%Y-%m-%dT%H:%M:%S')}+00:00 gpu7 kernel: {KERNEL}")
    async with emulator(speed=20, rate=20.0, spans=f"http://{listen}/v1/traces") as (url, _):
        named = ["--dcgm", f"{url}/dcgm", "--otlp-listen", listen, "--kernel-log", str(kernel)]
        for folder, more in (("plain", []), ("redacted", ["--redact"])):
            code, told = await recorded(tmp_path / folder, url, "--for", "60s", *named, *more)
            assert code == 0, told
    plain, redacted = read_recording(tmp_path / "plain"), read_recording(tmp_path / "redacted")
    for recording in (plain, redacted):
        assert recording.gpu is not None
        assert len(set(recording.gpu.t.tolist())) > 5
        assert len(recording.spans) > 100
    assert [line.text for line in plain.log if line.process == "kernel"] == [KERNEL.strip()]
    assert [line.text for line in redacted.log if line.process == "kernel"] == ["NVRM: Xid (PCI:0000:18:00): 79"]
    assert {span.request_id for span in plain.spans}.isdisjoint(span.request_id for span in redacted.spans)


async def test_round_trips_to_other_hosts_are_in_the_folder(tmp_path: Path, free_port) -> None:
    async def healthz(request: web.Request) -> web.Response:
        return web.json_response({"ok": request.path == "/healthz"})

    async with emulator(speed=20, rate=20.0) as (url, _), http_server(healthz) as peer:
        named = ["--peer", peer, "--peer", f"http://127.0.0.1:{free_port()}"]
        for folder, more in (("plain", []), ("redacted", ["--redact"])):
            code, told = await recorded(tmp_path / folder, url, "--for", "60s", *named, *more)
            assert code == 0, told
        code, told = await recorded(tmp_path / "wrong", url, "--peer", "nothing here", "--for", "5s")
        assert (code, "Traceback" in told) == (2, False)
    plain, redacted = read_recording(tmp_path / "plain").links, read_recording(tmp_path / "redacted").links
    assert plain is not None
    assert redacted is not None
    assert plain.peer[0] == peer.removeprefix("http://")
    assert plain.rtt_median_s[0] > 0
    assert (plain.sent[1], plain.lost[1], math.isnan(plain.rtt_median_s[1])) == (5, 5, True)
    assert not any("127.0.0.1" in name for name in redacted.peer)
    assert len(set(redacted.peer)) == 2


async def test_an_address_that_is_no_exporter_is_refused_by_name(tmp_path: Path) -> None:
    async with emulator(speed=20) as (url, _):
        code, told = await recorded(tmp_path / "r", url, "--dcgm", url, "--for", "5s")
        assert (code, "neither DCGM's nor node_exporter's" in told) == (2, True)
        code, told = await recorded(tmp_path / "r", url, "--jaeger", url, "--for", "5s")
        assert (code, "does not ask Jaeger" in told) == (2, True)
