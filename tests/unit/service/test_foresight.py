"""A forecast's dry run: off unless asked for, made in a worker, told on the incident; nothing is changed."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import msgspec
import pytest

from watched_pages import START, Emulated
from whystall.model.incident import Forecast
from whystall.model.recording import Recording, SeriesTable
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.reports.incident_line import incident_line
from whystall.service.foresight import Foresight, foresee, planned
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.settings import WatchSettings
from whystall.service.target import WatchTarget
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers
from whystall.trials.actuators.spec import CommandSpec

ARGUMENTS = ("--max-num-seqs", "32")


class Filling(Emulated):
    """A server of 32 seats whose load grows until they are taken."""

    def __init__(self) -> None:
        super().__init__()
        deployment = self.deployment
        serving = deployment.serving
        options = msgspec.structs.replace(serving.options, max_num_seqs=32)
        deployment.restart(msgspec.structs.replace(serving, options=options), START, down_s=0.0, loading_s=0.0)
        self.lookout.servers[self.name].argv = ("vllm", "serve", "m", *ARGUMENTS)
        for count in range(8, 60):  # clients that wait for their answers: as many run
            deployment.at(START + 20 * (count - 8), lambda d, _t, count=count: self._clients(d, count))

    @staticmethod
    def _clients(deployment, count: int) -> None:
        deployment.traffic.plan = msgspec.structs.replace(deployment.traffic.plan, rate=0.0, clients=count)


@pytest.fixture(scope="module")
def warned() -> Filling:
    emulated = Filling()
    for _ in range(60):
        happened = emulated.run(10)
        if any(h.incident.state == "warning" for h in happened):
            return emulated
    raise AssertionError([(h.what, h.incident.headline.en) for h in emulated.happened])


def watcher_of(emulated: Filling, target: WatchTarget, *, dry_run: bool) -> tuple[Watcher, list]:
    told: list = []
    watcher = Watcher(
        emulated.lookout.how, Ledger(None), Workers(0), Log("text", "error", io.StringIO()), [told.append]
    )
    watcher.lookout, watcher.dry_run, watcher._targets = emulated.lookout, dry_run, {target.name: target}
    return watcher, told


async def tell(watcher: Watcher, emulated: Filling) -> None:
    watcher._tell(next(h for h in emulated.happened if h.incident.state == "warning"))
    while watcher._jobs:
        await asyncio.gather(*watcher._jobs)


async def test_it_is_off_by_default(warned):
    assert WatchSettings().dry_run is False
    watcher, told = watcher_of(warned, WatchTarget("a", "http://a:8000"), dry_run=False)
    await tell(watcher, warned)
    assert [h.incident.suggestion for h in told] == [None]


async def test_the_warning_gets_the_exact_change_and_what_it_would_do(warned, tmp_path: Path):
    touched = tmp_path / "touched"
    spec = CommandSpec(argv=("touch", str(touched)), arguments=ARGUMENTS)
    watcher, told = watcher_of(warned, WatchTarget("a", "http://a:8000", actuator=spec), dry_run=True)
    await tell(watcher, warned)
    assert [h.what for h in told] == ["opened", "updated"]
    incident = told[-1].incident
    suggestion = incident.suggestion
    assert incident.state == "warning"
    assert incident.steps[-1].id == "suggested"
    assert suggestion.remedy.change.keys() == {"--max-num-seqs"}
    assert suggestion.remedy.prediction.metric("ttft_p95").predicted.high > 0
    assert suggestion.without
    assert suggestion.remedy.change["--max-num-seqs"] in suggestion.change
    assert "32" in suggestion.undo
    assert not touched.exists()
    assert "dry run of a fix: Raise --max-num-seqs" in incident_line(told[-1], "en")


async def test_where_nothing_is_known_that_could_make_it_that_is_said(warned, tmp_path: Path):
    job = Foresight(*_window(warned))
    found = await planned(foresee(job), WatchTarget("a", "http://a:8000"), {"XDG_STATE_HOME": str(tmp_path)})
    assert found.remedy.change
    assert found.change == ""
    assert "actuator" in found.not_planned.en


def _window(emulated: Filling):
    server = emulated.lookout.servers["a"]
    engine = next(iter(server.engines.values()))
    incident = next(h.incident for h in emulated.happened if h.incident.state == "warning")
    return server.current(engine), engine.label, incident.forecast


def test_what_cannot_be_diagnosed_is_named():
    empty = Recording(target=Target("http://a:8000"), metrics=SeriesTable.empty())
    found = foresee(Foresight(empty, "", Forecast("seats", 60.0, 1.0, 0.8, 0.01, Text("full"))))
    assert found.remedy is None
    assert "could not be made" in found.because.en
