"""What ``whystall demo --recording`` looks at: a server that something was done to, and what was done."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import msgspec

from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.sources.replay import serve_replay

Show = Callable[[Progress], None] | None


class Incident(msgspec.Struct, frozen=True):
    """What was done to a server: the cause that it made, and when, in seconds of the server's clock.

    ``speed`` is how many of its seconds pass in one of ours; ``introduction`` names ``url``, ``speed`` and ``at``.
    """

    cause: str
    at_s: float
    seconds: float  # from the first look to the last
    speed: float
    introduction: Text
    recording: str  # what is replayed, in the package


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
    with resources.as_file(resources.files("whystall") / incident.recording) as folder:
        async with serve_replay(folder, speed=incident.speed) as url:
            tell(url)
            return await collect(CollectSpec(url, seconds=incident.seconds), progress=show)
