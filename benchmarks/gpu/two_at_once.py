"""A fourth set of incidents on one H200, for a blind look: two causes at the same time.

::

    python benchmarks/gpu/two_at_once.py start|record|end --site SITE --models DIR --tools TOOLS --out OUT [NAME …]

What is true of each was written here before any of them was recorded: ``both`` holds, for each of the two, what is a right
name for it. The servers are those of ``quiet_losses.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from incidents import CHAT, EVERY_CORE, HERE, Catalogue, Run, Scenario, calm, delayed, main, pinned
from quiet_losses import LAST_CORE, SERVERS, STORIES, front_end_pinned

PROXY = "http://127.0.0.1:9001"
FAR = ["network", "gateway"]
STARVED = ["cpu_starved", "frontend_cpu"]
LOOP = ["cpu_starved", "engine_loop_cpu"]
LONGER = ["longer_prompts", "prefill_bound", "prefill_interference"]
FULL_POOL = ["kv_capacity", "longer_outputs"]
SEATS = ["seat_cap", "overload"]
ENDS = {55: pinned(EVERY_CORE)}


def engine_pinned(run: Run) -> None:
    """The engine's process has one core, which six other programs want too."""
    for pid in run.pids("EngineCore"):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), LAST_CORE)
    for _ in range(6):
        run.start("-c", f"import os\nos.sched_setaffinity(0, {LAST_CORE})\nwhile True: pass")


def near(run: Run) -> None:
    run.start(str(HERE / "slow_proxy.py"), str(run.server.port), "9001", "0.01")


def two(server: str, phases: list[dict[str, Any]], why: str, *both: list[str], **more: Any) -> Scenario:
    """Both begin at 20 s."""
    causes = sorted({cause for each in both for cause in each})
    return Scenario(server, phases, "bottleneck", causes, why, both=list(both), onset_tolerance_s=15, **more)


def since_20(before: dict[str, Any], after: list[dict[str, Any]], seconds: int = 36) -> list[dict[str, Any]]:
    return [{"seconds": 20, "streams": [before]}, {"seconds": seconds, "streams": after}]


CHATTING = {"rate": 6, **CHAT}
MANY = {"concurrency": 128, "prompt": 200, "output": 256}
WRITERS = {"concurrency": 44, "prompt": 200, "output": 3000}
SHORT, TENFOLD = ({"rate": 1, "prompt": [n, n + 200], "output": [24, 48]} for n in (900, 9000))
SHARED = {"rate": 0.8, "prompt": [13500, 14500], "output": [24, 48]}

SCENARIOS = {
    "longer_far": two(
        "main",
        since_20(SHORT, [{**TENFOLD, "url": PROXY}]),
        "prompts are ten times as long, and all answers come through a proxy that holds them for 0.6 s",
        LONGER,
        FAR,
        acts={15: delayed},
    ),
    "prefix_pinned": two(
        "main",
        since_20({**SHARED, "shared": 13000}, [SHARED]),
        "the shared 13,000 tokens are shared no more, and the API process shares one core with six programs",
        ["prefix_cache_loss", "prefill_bound", "prefill_interference"],
        STARVED,
        acts={20: front_end_pinned, **ENDS},
    ),
    "stories_pinned": two(
        "main",
        since_20(STORIES, [STORIES, {"rate": 2, "prompt": 6000, "output": 4}]),
        "prompts of 6,000 tokens stop 16 readers' tokens, and the engine's process shares one core with six programs",
        [*LONGER, "head_of_line_prompt"],
        LOOP,
        acts={20: engine_pinned, **ENDS},
    ),
    "crowd_far": two(
        "main",
        [calm(20, 8), calm(36, 55, url=PROXY)],
        "chat goes from 8 to 55 requests/s, through a proxy that holds each answer for 0.6 s",
        ["overload", "prefill_bound", "prefill_interference", "decode_bandwidth", "burst", "seat_cap"],
        FAR,
        acts={15: delayed},
    ),
    "seats_far": two(
        "small",
        since_20(CHATTING, [{**MANY, "url": PROXY}]),
        "128 clients for 64 seats, through a proxy that holds each answer for 0.6 s",
        SEATS,
        FAR,
        acts={15: delayed},
        limit="seat_cap",
    ),
    "seats_pinned": two(
        "small",
        since_20(CHATTING, [MANY]),
        "128 clients for 64 seats, and the engine's process shares one core with six programs",
        SEATS,
        LOOP,
        acts={20: engine_pinned, **ENDS},
        limit="seat_cap",
    ),
    "pool_far": two(
        "small",
        since_20(CHATTING, [{**WRITERS, "url": PROXY}]),
        "44 answers of 3,000 tokens in a pool of 65,536, through a proxy that holds each answer for 0.6 s",
        FULL_POOL,
        FAR,
        acts={15: delayed},
        limit="kv_capacity",
    ),
    "pool_pinned": two(
        "small",
        since_20(CHATTING, [WRITERS, CHATTING]),
        "44 answers of 3,000 tokens in a pool of 65,536, and the API process shares one core with six programs",
        FULL_POOL,
        STARVED,
        acts={20: front_end_pinned, **ENDS},
        limit="kv_capacity",
    ),
    "bursts_far": two(
        "small",
        since_20(CHATTING, [{"burst": 200, "every": 9, "prompt": 200, "output": [200, 300], "url": PROXY}]),
        "200 requests at once every 9 s for 64 seats, through a proxy that holds each answer for 0.6 s",
        ["burst", "seat_cap", "overload", "prefill_bound", "prefill_interference"],
        FAR,
        acts={15: delayed},
    ),
    "near_way": Scenario(
        "small",
        [calm(15, 6), calm(15, 14, url=PROXY), calm(15, 6)],
        "healthy",
        [],
        "chat at 6, 14, 6 requests/s, the middle third through a proxy that holds each answer for 10 ms",
        onset_s=None,
        acts={10: near},
    ),
}

if __name__ == "__main__":
    main(Catalogue(SERVERS, SCENARIOS))
