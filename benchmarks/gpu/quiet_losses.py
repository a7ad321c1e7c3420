"""A third set of incidents on one H200, for a blind look: losses without a queue, and healthy servers that look like one.

::

    python benchmarks/gpu/quiet_losses.py start|record|end --site SITE --models DIR --tools TOOLS --out OUT [NAME …]

What is true of each was written here before any of them was recorded. Two servers share the GPU: 8B with a wide pool, and 1B
with 64 seats and a pool of 65,536 tokens, the one that is started again.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from incidents import (
    CHAT,
    EVERY_CORE,
    GIB,
    HERE,
    Catalogue,
    Run,
    Scenario,
    Server,
    calm,
    launch,
    main,
    pinned,
    signalled,
    with_calm,
)

LAST_CORE = {max(EVERY_CORE)}
FEW_GRAPHS = '{"cudagraph_capture_sizes": [1, 2, 4, 8, 16, 32, 64]}'  # a quick start


def small(seats: int) -> list[str]:
    memory = ["--gpu-memory-utilization", "0.08", "--kv-cache-memory-bytes", str(2 * GIB), "--max-model-len", "8192"]
    return [*memory, "--compilation-config", FEW_GRAPHS, "--max-num-seqs", str(seats)]


SERVERS = {
    "main": Server(
        8021,
        "m8b",
        ["--max-model-len", "32768", "--gpu-memory-utilization", "0.5", "--kv-cache-memory-bytes", str(40 * GIB)],
    ),
    "small": Server(8022, "m1b", small(64)),
}


def hiccups(first: int, last: int, every: int) -> dict[int, Callable[[Run], Any]]:
    """The engine's process stands still for a second every so many seconds."""
    stops = {second: signalled(signal.SIGSTOP) for second in range(first, last, every)}
    return stops | {second + 1: signalled(signal.SIGCONT) for second in stops}


def front_end_pinned(run: Run) -> None:
    """The API process has one core, which six other programs want too."""
    for thread in Path(f"/proc/{run.session()}/task").iterdir():
        os.sched_setaffinity(int(thread.name), LAST_CORE)
    for _ in range(6):
        run.start("-c", f"import os\nos.sched_setaffinity(0, {LAST_CORE})\nwhile True: pass")


def neighbour_waits(run: Run) -> None:
    """Another program gets ready on the GPU; it computes once ``OUT/go`` is there."""
    (run.places.out / "go").unlink(missing_ok=True)
    run.start(str(HERE / "neighbour.py"), "cuda:0", str(run.places.out / "go"), "40")


def go(run: Run) -> None:
    (run.places.out / "go").touch()


def restarted(seats: int) -> Callable[[Run], None]:
    """End the small server and start it again on the same port, with so many seats."""

    def act(run: Run) -> None:
        pids = run.pids()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        while any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
            time.sleep(0.1)
        launch("small", replace(run.server, flags=small(seats)), run.places)

    return act


LONG = {"rate": 0.7, "prompt": [11000, 15000], "output": [8, 24]}
STORIES = {"concurrency": 16, "prompt": 50, "output": 1500}

SCENARIOS = {
    "prefix_quiet": Scenario(
        "main",
        [
            {"seconds": 20, "streams": [{"rate": 0.8, "prompt": [13500, 14500], "output": [24, 48], "shared": 13000}]},
            {"seconds": 38, "streams": [{"rate": 0.8, "prompt": [13500, 14500], "output": [24, 48]}]},
        ],
        "bottleneck",
        ["prefix_cache_loss"],
        "13,000 of 14,000 prompt tokens were shared, from 20 s on none; the GPU is busy a third of the time, no queue",
        also=["prefill_bound", "prefill_interference"],
        limit="prefix_cache_loss",
    ),
    "longer_quiet": Scenario(
        "main",
        [
            {"seconds": 20, "streams": [{"rate": 1, "prompt": [900, 1100], "output": [24, 48]}]},
            {"seconds": 38, "streams": [{"rate": 1, "prompt": [9000, 11000], "output": [24, 48]}]},
        ],
        "bottleneck",
        ["longer_prompts", "prefill_bound"],
        "prompts are ten times as long from 20 s on, at one a second: a third of what the model computes, no queue",
        also=["prefill_interference"],
    ),
    "among_stories": Scenario(
        "main",
        [
            {"seconds": 20, "streams": [STORIES]},
            {"seconds": 36, "streams": [STORIES, {"rate": 2, "prompt": 6000, "output": 4}]},
        ],
        "bottleneck",
        ["prefill_interference"],
        "16 clients read 1,500-token answers; from 20 s on two prompts of 6,000 tokens a second stop their tokens",
        also=["longer_prompts", "head_of_line_prompt", "prefill_bound"],
    ),
    "hiccups": Scenario(
        "main",
        [calm(56, 6)],
        "bottleneck",
        ["gc_pause", "engine_hang"],
        "from 20 s on the engine's process stands still for one second in six (SIGSTOP), as in a long collection",
        also=["cpu_starved"],
        acts=hiccups(20, 54, 6),
    ),
    "long_always": Scenario(
        "main",
        [{"seconds": 44, "streams": [LONG]}],
        "healthy",
        [],
        "prompts of 11,000 to 15,000 tokens all the time: first tokens take 0.3 to 0.6 s, as they always did",
        onset_s=None,
    ),
    "heavy_tail": Scenario(
        "main",
        [
            {
                "seconds": 44,
                "streams": [
                    {"rate": 3, "prompt": [100, 300], "output": [64, 128]},
                    {"rate": 0.2, "prompt": [5500, 6500], "output": [64, 128]},
                ],
            }
        ],
        "healthy",
        [],
        "3 prompts a second of 200 tokens and one of 6,000 every 5 s",
        onset_s=None,
    ),
    "drained": Scenario(
        "main",
        [
            {
                "seconds": 44,
                "streams": [{"rate": 2, **CHAT}, {"burst": 12, "every": 8, "prompt": 200, "output": [24, 48]}],
            }
        ],
        "healthy",
        [],
        "12 short requests at once every 8 s, gone within a second",
        onset_s=None,
    ),
    "one_reader": Scenario(
        "main",
        [{"seconds": 44, "streams": [{"concurrency": 1, "prompt": 300, "output": 1200}]}],
        "healthy",
        ["client_limited", "low_demand"],
        "one client streams 1,200-token answers one after another",
        onset_s=None,
    ),
    "kv_small": Scenario(
        "small",
        with_calm({"concurrency": 44, "prompt": 200, "output": 3000}, after=38, rate=4),
        "bottleneck",
        ["kv_capacity", "longer_outputs"],
        "44 answers of 3,000 tokens in a pool of 65,536: full within seconds, preemptions",
        also=["overload", "burst"],
        limit="kv_capacity",
        onset_tolerance_s=15,
    ),
    "front_core": Scenario(
        "small",
        [calm(20, 14), calm(36, 14)],
        "bottleneck",
        ["cpu_starved", "frontend_cpu"],
        "from 20 s on the API process has one core, shared with six other programs",
        acts={20: front_end_pinned, 55: pinned(EVERY_CORE)},
    ),
    "gpu_mate": Scenario(
        "small",
        [calm(20, 6), calm(36, 6)],
        "bottleneck",
        ["slow_kernel", "gpu_fault"],
        "another program computes on the same GPU from 20 s on; few requests, no queue",
        also=["gpu_throttle"],
        acts={2: neighbour_waits, 20: go},
    ),
    "restart_plain": Scenario(
        "small",
        [calm(110, 8)],
        ["unknown", "healthy"],  # the absence is seen, and over
        [],
        "killed at 20 s and started again with the same flags: as fast as before once it is up",
        either=["weight_loading", "warm_up", "engine_dead"],
        onset_s=None,
        acts={20: restarted(64)},
    ),
    "restart_seats": Scenario(
        "small",
        [calm(115, 14)],
        "bottleneck",
        ["config_regression", "seat_cap"],
        "killed at 20 s and started again with 4 seats instead of 64: a queue once it is up",
        also=["overload", "weight_loading"],
        limit="seat_cap",
        onset_tolerance_s=80,  # the loss begins when it is up again
        acts={20: restarted(4)},
    ),
    "past_capacity": Scenario(
        "main",
        [calm(20, 8), calm(34, 55)],
        "bottleneck",
        ["overload", "prefill_bound", "prefill_interference", "decode_bandwidth"],
        "chat goes from 8 to 55 requests/s: 27,500 prompt and 8,800 output tokens/s, more than the model does at once",
        also=["seat_cap", "frontend_cpu", "burst"],
        onset_tolerance_s=10,
    ),
    "more_thinkers": Scenario(
        "main",
        [
            {"seconds": 20, "streams": [{"concurrency": 6, "think": 3.0, **CHAT}]},
            {"seconds": 30, "streams": [{"concurrency": 40, "think": 3.0, **CHAT}]},
        ],
        "healthy",
        ["client_limited", "low_demand"],
        "from 6 to 40 clients that think for 3 s: about 9 requests/s, well under capacity",
        onset_s=None,
    ),
    "one_in_five": Scenario(
        "main",
        [{"seconds": 42, "streams": [{"burst": 1, "every": 5, **CHAT}]}],
        "healthy",
        ["low_demand", "client_limited"],
        "a request every 5 s",
        onset_s=None,
    ),
    "swing_small": Scenario(
        "small",
        [calm(15, 6), calm(15, 18), calm(15, 6)],
        "healthy",
        [],
        "chat at 6, 18, 6 requests/s of a 1B model with 64 seats",
        onset_s=None,
    ),
    "killed": Scenario(
        "main",
        [calm(36, 4)],
        "bottleneck",
        ["engine_dead"],
        "the engine's process is killed at 20 s",
        acts={20: signalled(signal.SIGKILL)},
    ),
}

if __name__ == "__main__":
    main(Catalogue(SERVERS, SCENARIOS))
