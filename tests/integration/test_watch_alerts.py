"""An incident in the emulator through a real Prometheus, the daemon and a real Alertmanager, from its begin to its end."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest

from emulated import emulator
from integration_processes import process
from whystall.model.incident import Happening
from whystall.service.daemon import Plan, watch
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.settings import NoticeSettings, WatchSettings
from whystall.service.target import WatchTarget

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus on this machine"),
    pytest.mark.skipif(shutil.which("prometheus-alertmanager") is None, reason="no alertmanager on this machine"),
]
SCRAPED = """
global: {{scrape_interval: 1s}}
scrape_configs:
- job_name: vllm
  static_configs: [{{targets: ['{target}']}}]
"""
ROUTES = """
route: {receiver: nobody, group_wait: 0s}
receivers: [{name: nobody}]
"""
HOW = Watching(interval_s=2.0, window_s=90.0, tick_s=3.0, calm_every_s=9.0, tail_s=16.0, before_s=60.0)


async def alerts(port: int) -> list[dict[str, object]]:
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/api/v2/alerts?active=true") as answer,
        ):
            return json.loads(await answer.text()) if answer.status == 200 else []
    except aiohttp.ClientError:
        return []


async def until(port: int, right: Callable[[list[dict[str, object]]], bool]) -> list[dict[str, object]]:
    while not right(found := await alerts(port)):
        await asyncio.sleep(0.3)
    return found


async def test_from_the_emulator_to_alertmanager_and_back(tmp_path: Path, free_port: Callable[[], int]) -> None:
    prometheus, alertmanager = free_port(), free_port()
    happened: asyncio.Queue[Happening] = asyncio.Queue()
    (tmp_path / "am.yml").write_text(ROUTES)
    with ExitStack() as stack:
        async with emulator(rate=10.0, plan={}, faults=("kv_capacity@35",)) as (url, deployment):
            calm = deployment.serving.traffic
            (tmp_path / "p.yml").write_text(SCRAPED.format(target=url.removeprefix("http://")))
            arguments = [f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
            stack.enter_context(process("prometheus", *arguments, f"--web.listen-address=127.0.0.1:{prometheus}"))
            arguments = [f"--config.file={tmp_path / 'am.yml'}", f"--storage.path={tmp_path / 'am'}"]
            arguments += [f"--web.listen-address=127.0.0.1:{alertmanager}", "--cluster.listen-address="]
            stack.enter_context(process("prometheus-alertmanager", *arguments))
            notice = NoticeSettings("alertmanager", url=f"http://127.0.0.1:{alertmanager}")
            plan = Plan(
                (WatchTarget("prom", f"prometheus+http://127.0.0.1:{prometheus}?job=vllm"),),
                HOW,
                port=0,
                store=tmp_path / "watch.sqlite",
                cases=tmp_path / "cases.sqlite",
                settings=WatchSettings(notices=(notice,)),
            )
            task = asyncio.create_task(watch(plan, Log(write=lambda _: None), [happened.put_nowait]))
            (alert,) = await asyncio.wait_for(until(alertmanager, named), 300)
            assert alert["labels"]["severity"] == "critical"
            assert url.removeprefix("http://") in alert["labels"]["target"]
            deployment.at(deployment.now, lambda d, _t: setattr(d.traffic, "plan", calm))
            await asyncio.wait_for(until(alertmanager, lambda found: not found), 300)
            last = None
            while not happened.empty():
                last = happened.get_nowait()
            assert last is not None
            assert last.what == "recovered"
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def named(found: list[dict[str, object]]) -> bool:
    """The alert of the cause that was planted; before Prometheus answers there may be one that says so."""
    return len(found) == 1 and found[0]["annotations"]["cause"] == "kv_capacity"
