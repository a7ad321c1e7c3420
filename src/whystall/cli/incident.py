"""What ``whystall demo`` looks at: a server that something is done to, and what was done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass, Phase
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.app import Face
from whystall.emulator.server.clock import Clock
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.openai import Limits
from whystall.emulator.server.serve import serving
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.sources.replay import serve_replay
from whystall.trials.load.generator import LoadGenerator, LoadTarget

Show = Callable[[Progress], None] | None


class Incident(msgspec.Struct, frozen=True):
    """What is done to a server: the cause that it makes, and when, in seconds of the server's clock.

    ``speed`` is how many of its seconds pass in one of ours; ``introduction`` names ``url``, ``speed`` and ``at``.
    """

    cause: str
    at_s: float
    seconds: float  # from the first look to the last
    speed: float
    introduction: Text
    recording: str = ""  # what is replayed, in the package; empty where the server is emulated


class Served(msgspec.Struct, frozen=True):
    """A server that runs: its address, and its log where it writes one."""

    url: str
    log: Path | None = None


# An 8B model that has room for 40,000 KV tokens, as on a 24 GB GPU. The load is the same in number all the time:
# twelve requests of 800 tokens are inside before, and would be seventeen of 2,900 after.
_BLOCKS = 2500
_RATE = 5.0
_OUTPUT = (300, 500)
_BEFORE, _AFTER = (300, 500), (2000, 3000)

EMULATED = Incident(
    cause="kv_capacity",
    at_s=20.0,
    seconds=54.0,
    speed=2.0,  # the main thread serves, sends and looks: much faster, and a busy laptop falls behind
    introduction=Text(
        "An emulated vLLM 0.32 (8B model, KV pool of a 24 GB GPU: 40,000 tokens) runs at {url}, {speed:g} times real time,\n"
        "under a live load of 5 requests a second. It starts healthy.\n"
        "Planted: from {at:.0f} s on, prompts of 2,000 to 3,000 tokens instead of 300 to 500, at the same rate.\n",
        "模拟的 vLLM 0.32（8B 模型，KV 池相当于 24 GB GPU：40,000 个 token）以 {speed:g} 倍速在 {url} 运行，\n"
        "实时负载为每秒 5 个请求。开始时是健康的。\n"
        "埋下的问题：第 {at:.0f} 秒起，提示词由 300–500 个 token 变为 2,000–3,000 个，请求速率不变。\n",
    ),
)
# What was done to the recorded server, cut from a recording of a real one (tests/data/cut.py).
RECORDED = Incident(
    cause="kv_capacity",
    at_s=15.0,
    seconds=49.0,
    speed=2.5,  # 49 s of the recording in 20 s: fast enough to wait for, slow enough to be watched
    introduction=Text(
        "A recording of a real vLLM 0.26 on one H200 is served at {url}, {speed:g} times as fast as it ran.\n"
        "Planted: room for 40,000 KV tokens, and after {at:.0f} s 128 clients instead of 8.\n",
        "一台 H200 上真实 vLLM 0.26 的录制正以 {speed:g} 倍速在 {url} 提供服务。\n"
        "埋下的问题：KV 只容纳 40,000 个 token，{at:.0f} 秒后客户端由 8 个增至 128 个。\n",
    ),
    recording="demo_data/kv_overflow",
)


async def watch(incident: Incident, tell: Callable[[str], None], show: Show = None) -> Recording:
    """Let ``incident`` happen and look at it; ``tell`` gets the address once it is served."""
    served = _replayed(incident) if incident.recording else _emulated(incident)
    async with served as server:
        tell(server.url)
        return await collect(CollectSpec(server.url, seconds=incident.seconds, log=server.log), progress=show)


@asynccontextmanager
async def _replayed(incident: Incident) -> AsyncIterator[Served]:
    with resources.as_file(resources.files("whystall") / incident.recording) as folder:
        async with serve_replay(folder, speed=incident.speed) as url:
            yield Served(url)


@asynccontextmanager
async def _emulated(incident: Incident) -> AsyncIterator[Served]:
    options = EngineOptions(num_gpu_blocks=_BLOCKS, max_num_seqs=1024, max_model_len=8192, async_scheduling=True)
    how = Serving(options=options, profile=load_profile("h200-8b"))
    with TemporaryDirectory(prefix="whystall-demo-") as folder:
        path = Path(folder) / "vllm.log"
        with path.open("w", encoding="utf-8") as log:
            clock = Clock(incident.speed)
            face = Face(
                Deployment(how, start=clock.start, log=log), clock, limits=Limits(how.model_name, options.max_model_len)
            )
            async with serving(face, 0) as url, _under_load(url, how.model_name, incident):
                yield Served(url, path)


@asynccontextmanager
async def _under_load(url: str, model: str, incident: Incident) -> AsyncIterator[None]:
    """Requests over HTTP for as long as somebody looks."""
    generator = LoadGenerator(LoadTarget(url, model), sink=lambda row: None)
    sending = asyncio.create_task(generator.play(phases(incident)))
    try:
        yield
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


def phases(incident: Incident) -> tuple[Phase, Phase]:
    """The load before and after the moment at which prompts get longer, on our clock."""
    spans = ((_BEFORE, incident.at_s), (_AFTER, 2 * incident.seconds))
    before, after = (
        Phase(
            seconds=seconds / incident.speed,
            rate=_RATE * incident.speed,
            mix=(LengthClass(1.0, prompt, _OUTPUT),),
            cut=False,
        )
        for prompt, seconds in spans
    )
    return before, after
