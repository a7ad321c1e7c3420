"""A drawn scheduler scenario and the loop that plays it, for the real scheduler and for ours alike.

Standard library only: it runs in the venv of vLLM as well as in ours.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any, Protocol

EOS = 1
Row = dict[str, Any]


class Player(Protocol):
    """A scheduler under the loop. ``schedule`` gives a handle and the scheduled tokens by request, in order."""

    def add(self, request: dict[str, Any]) -> None: ...

    def abort(self, index: int) -> None: ...

    def schedule(self) -> tuple[Any, list[tuple[int, int]]]: ...

    def update(self, handle: Any) -> None: ...

    def counts(self) -> dict[str, int]: ...


def draw(seed: int) -> dict[str, Any]:
    """The configuration and the requests of scenario ``seed``: small pools, so that preemptions are plenty."""
    rng = random.Random(seed)
    block_size = rng.choice([4, 8, 16])
    max_model_len = rng.choice([128, 256, 512])
    per_request = max_model_len // block_size
    options: dict[str, Any] = {
        "block_size": block_size,
        "max_model_len": max_model_len,
        "num_gpu_blocks": per_request + 1 + rng.randrange(per_request * 3),
        "max_num_seqs": rng.choice([2, 4, 8, 16, 32]),
        "enable_prefix_caching": rng.random() < 0.7,
        "enable_chunked_prefill": rng.random() < 0.8,
        "scheduler_reserve_full_isl": rng.random() < 0.6,
        "watermark": rng.choice([0.0, 0.0, 0.05, 0.1]),
        "scheduling_policy": "priority" if rng.random() < 0.35 else "fcfs",
        "async_scheduling": rng.random() < 0.5,
    }
    budget = rng.choice([16, 32, 64, 128, 512])
    options["max_num_batched_tokens"] = max(budget, options["max_num_seqs"])
    if not options["enable_chunked_prefill"]:
        options["max_num_batched_tokens"] = max_model_len + rng.randrange(64)
    if rng.random() < 0.4:
        options["long_prefill_token_threshold"] = rng.choice([8, 16, 48])
        options["long_prefill_token_threshold_adaptive"] = rng.random() < 0.5
    if rng.random() < 0.25:
        options["max_num_active_seqs"] = max(1, options["max_num_seqs"] - rng.randrange(4))
    return {"seed": seed, "options": options, "requests": _requests(rng, max_model_len, block_size)}


def _requests(rng: random.Random, max_model_len: int, block_size: int) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = []
    step = 0
    for index in range(rng.choice([30, 45, 60])):
        step += rng.choice([0, 0, 0, 1, 2, 8])
        if requests and rng.random() < 0.15:  # a later turn of a conversation
            parent = rng.choice(requests)
            prompt = parent["prompt"] + parent["outputs"] + _tokens(rng, rng.randrange(1, 20))
        else:
            shared = [(7 * position + 3) % 997 + 10 for position in range(rng.randrange(0, max_model_len // 3))]
            prompt = (shared if rng.random() < 0.5 else []) + _tokens(rng, rng.randrange(1, max_model_len // 2))
        prompt = prompt[: max_model_len - rng.randrange(1, 3)]
        outputs = _tokens(rng, rng.randrange(1, max_model_len // 2))
        max_tokens = len(outputs)
        if rng.random() < 0.3:
            outputs[-1] = EOS
            max_tokens += rng.randrange(0, 9)
        abort = step + rng.randrange(1, 120) if rng.random() < 0.08 else None
        request = {"index": index, "step": step, "prompt": prompt, "outputs": outputs, "max_tokens": max_tokens}
        requests.append({**request, "priority": rng.randrange(3), "abort": abort})
    return requests


def _tokens(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(1010, 30000) for _ in range(count)]


def play(scenario: dict[str, Any], player: Player) -> list[Row]:
    """The row of each turn of the engine's loop: what was scheduled, and the counts after the result it waited for."""
    depth = 2 if scenario["options"]["async_scheduling"] else 1
    requests = deque(scenario["requests"])
    aborts = sorted((r["abort"], r["index"]) for r in requests if r["abort"] is not None)
    in_flight: deque[Any] = deque()
    rows: list[Row] = []
    idle = 0
    turn = 0
    while idle < 3:
        while requests and requests[0]["step"] <= turn:
            player.add(requests.popleft())
        while aborts and aborts[0][0] <= turn:
            player.abort(aborts.pop(0)[1])
        handle, scheduled = player.schedule()
        if scheduled:
            in_flight.append(handle)
        if in_flight and (len(in_flight) == depth or not scheduled):
            player.update(in_flight.popleft())
        ones = [index for index, tokens in scheduled if tokens == 1]
        more = [pair for pair in scheduled if pair[1] != 1]
        rows.append({"one": ones, "more": more, **player.counts()})
        idle = 0 if scheduled or in_flight or requests or aborts else idle + 1
        turn += 1
        if turn > 20000:
            raise RuntimeError(f"scenario {scenario['seed']} does not end")
    return rows
