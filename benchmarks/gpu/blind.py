"""A second set of incidents on H200s, for a blind look: other models, sizes, flags and loads than ``incidents.py`` has.

::

    python benchmarks/gpu/blind.py start|record|end --site SITE --models DIR --tools TOOLS --out OUT [NAME …]

What is true of each was written here before any of them was recorded. Of the servers ``dp`` needs two GPUs; the others
share the first one: a 32B model with an FP8 KV cache, and two of 1B, one with few seats and small steps.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from incidents import CHAT, GIB, HERE, Catalogue, Run, Scenario, Server, calm, main, pinned, with_calm

# Half of a machine of two GPUs; the other half's cores and its GPU are another run's.
OURS = frozenset(range(20 if (os.cpu_count() or 1) >= 32 else os.cpu_count() or 1))
NARROW = {0, 1, 2}


def server(port: int, model: str, share: float, kv_gib: int, *flags: str, gpus: str = "0") -> Server:
    memory = ["--gpu-memory-utilization", str(share), "--kv-cache-memory-bytes", str(kv_gib * GIB)]
    return Server(port, model, [*memory, *flags], gpus, OURS)


SERVERS = {
    "big": server(
        8011, "m32b", 0.55, 8, "--max-model-len", "32768", "--max-num-batched-tokens", "2048", "--kv-cache-dtype", "fp8"
    ),
    "narrow": server(
        8012, "m1b", 0.05, 4, "--max-model-len", "8192", "--max-num-seqs", "16", "--max-num-batched-tokens", "256"
    ),
    "wide": server(8013, "m1b", 0.08, 8, "--max-model-len", "8192", "--max-num-seqs", "512"),
    "dp": server(
        8014,
        "m8b",
        0.18,
        8,
        "--max-model-len",
        "8192",
        "--data-parallel-size",
        "2",
        "--disable-custom-all-reduce",
        gpus="0,1",
    ),
}


def neighbours(run: Run) -> None:
    """Four programs get ready on the second GPU; they compute once ``OUT/go`` is there."""
    (run.places.out / "go").unlink(missing_ok=True)
    for _ in range(4):
        run.start(str(HERE / "neighbour.py"), "cuda:1", str(run.places.out / "go"), "34")


def go(run: Run) -> None:
    (run.places.out / "go").touch()


def burners(run: Run) -> None:
    """Other programs compute on the cores that the server has."""
    for _ in range(24):
        run.start("-c", f"import os\nos.sched_setaffinity(0, {NARROW})\nwhile True: pass")


def to_second(number: signal.Signals) -> Callable[[Run], Any]:
    """Send the second engine's process a signal."""

    def act(run: Run) -> None:
        for pid in run.pids("EngineCore_DP1"):
            os.kill(pid, number)

    return act


SCENARIOS = {
    "big_calm": Scenario(
        "big", [calm(15, 0.8), calm(15, 2), calm(15, 1)], "healthy", [], "chat at 0.8, 2, 1 requests/s", onset_s=None
    ),
    "kv_full": Scenario(
        "big",
        with_calm({"rate": 4, "prompt": 400, "output": 2000}, after=48, rate=1.2),
        "bottleneck",
        ["kv_capacity", "longer_outputs"],
        "4 requests/s of 2,000 output tokens are added to a KV cache of 65,000 tokens: full after some 20 s",
        also=["overload", "decode_bandwidth"],
        limit="kv_capacity",
        onset_tolerance_s=20,
    ),
    "documents": Scenario(
        "big",
        with_calm({"rate": 1.2, "prompt": 12000, "output": 32}, rate=1.2),
        "bottleneck",
        ["prefill_bound", "longer_prompts", "prefill_interference", "overload"],
        "14,000 prompt tokens/s in documents of 12,000 are added; a 32B model computes less than 10,000",
        also=["head_of_line_prompt", "token_budget"],
        limit="prefill_bound",
    ),
    "prefix_lost": Scenario(
        "big",
        [
            {"seconds": 20, "streams": [{"rate": 1.8, "prompt": [3800, 4200], "output": [24, 48], "shared": 3600}]},
            {"seconds": 35, "streams": [{"rate": 1.8, "prompt": [3800, 4200], "output": [24, 48]}]},
        ],
        "bottleneck",
        ["prefix_cache_loss"],
        "nine tenths of each prompt were shared; from 20 s on nothing is",
        also=["prefill_bound", "prefill_interference", "overload"],
        limit="prefix_cache_loss",
    ),
    "big_burst": Scenario(
        "big",
        with_calm({"burst": 60, "every": 16, "prompt": 800, "output": 48}, rate=1.2),
        "bottleneck",
        ["burst"],
        "60 requests of 800 tokens at once every 16 s",
        also=["prefill_bound", "overload", "prefill_interference"],
    ),
    "seats": Scenario(
        "narrow",
        with_calm({"concurrency": 64, "prompt": 200, "output": 300}),
        "bottleneck",
        ["seat_cap"],
        "64 more clients for 16 seats",
        also=["overload", "burst", "client_limited"],
        limit="seat_cap",
    ),
    "budget": Scenario(
        "narrow",
        with_calm({"rate": 40, "prompt": 3000, "output": 8}),
        "bottleneck",
        ["token_budget", "longer_prompts"],
        "120,000 prompt tokens/s in steps of 256 tokens, of a model that could do twice as many in larger ones",
        also=["prefill_bound", "overload", "prefill_interference", "engine_loop_cpu", "launch_bound"],
        limit="token_budget",
    ),
    "few_clients": Scenario(
        "narrow",
        [{"seconds": 45, "streams": [{"concurrency": 3, **CHAT}]}],
        "healthy",
        ["client_limited", "low_demand"],
        "three clients, each with one request at a time",
        onset_s=None,
    ),
    "flood": Scenario(
        "wide",
        with_calm({"concurrency": 320, "prompt": 100, "output": 400}),
        "bottleneck",
        ["frontend_cpu"],
        "320 clients stream from a 1B model: the API process has more tokens to send than its core can",
        also=["engine_loop_cpu", "burst", "overload"],
        limit="frontend_cpu",
        onset_tolerance_s=8,
    ),
    "busy": Scenario("wide", [calm(45, 40)], "healthy", [], "chat at 40 requests/s of a 1B model", onset_s=None),
    "cpu_neighbour": Scenario(
        "wide",
        [calm(20, 20), calm(32, 20)],
        "bottleneck",
        ["cpu_starved"],
        "24 other programs on the server's three cores from 20 s on",
        also=["frontend_cpu", "engine_loop_cpu"],
        limit="cpu_starved",
        acts={0: pinned(NARROW), 20: burners, 51: pinned(set(OURS))},
    ),
    "crowd": Scenario(
        "big",
        [calm(20, 1.2), calm(35, 16)],
        "bottleneck",
        ["overload", "prefill_bound", "prefill_interference", "kv_capacity"],
        "chat goes from 1.2 to 16 requests/s: 8,000 prompt tokens/s, near all that a 32B model computes",
        also=["decode_bandwidth", "burst"],
    ),
    "schemas_1b": Scenario(
        "wide",
        with_calm({"rate": 40, "prompt": 200, "output": 64, "schema": 24}),
        "bottleneck",
        ["structured_output"],
        "40 requests/s with a JSON schema each of its own",
        also=["engine_loop_cpu", "frontend_cpu"],
    ),
    "logprobs_1b": Scenario(
        "wide",
        with_calm({"concurrency": 128, "prompt": 100, "output": 200, "logprobs": 20}),
        "bottleneck",
        ["frontend_cpu", "sampler_cpu"],
        "128 clients ask a 1B model for 20 log probabilities a token",
        also=["engine_loop_cpu"],
    ),
    "one_giant": Scenario(
        "big",
        with_calm({"burst": 1, "every": 12, "prompt": 30000, "output": 8}, rate=1.2),
        "bottleneck",
        ["head_of_line_prompt", "prefill_interference"],
        "a 30,000-token prompt every 12 s among chats of a 32B model",
        also=["longer_prompts", "prefill_bound"],
    ),
    "narrow_calm": Scenario(
        "narrow",
        [calm(15, 4), calm(15, 8), calm(15, 5)],
        "healthy",
        [],
        "chat at 4, 8, 5 requests/s on 16 seats",
        onset_s=None,
    ),
    "big_shared": Scenario(
        "big",
        [{"seconds": 45, "streams": [{"rate": 1.5, "prompt": [3800, 4200], "output": [64, 128], "shared": 3600}]}],
        "healthy",
        [],
        "chats that share nine tenths of their prompt",
        onset_s=None,
    ),
    "dp_calm": Scenario("dp", [calm(40, 16)], "healthy", [], "chat at 16 requests/s over two replicas", onset_s=None),
    "dp_slow": Scenario(
        "dp",
        [calm(20, 12), calm(32, 12)],
        "bottleneck",
        ["slow_kernel", "gpu_fault", "straggler_rank", "replica_imbalance"],
        "four other programs compute on the second replica's GPU from 20 s on",
        also=["gpu_throttle"],
        acts={2: neighbours, 20: go},
    ),
    "dp_hang": Scenario(
        "dp",
        [calm(50, 10)],
        "bottleneck",
        ["engine_hang"],
        "one of two replicas is stopped from 20 to 38 s",
        also=["replica_imbalance"],
        limit="engine_hang",
        acts={20: to_second(signal.SIGSTOP), 38: to_second(signal.SIGCONT)},
    ),
}

if __name__ == "__main__":
    main(Catalogue(SERVERS, SCENARIOS))
