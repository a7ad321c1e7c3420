"""Servers in trouble, for the tests of remedies: a state by a few numbers, and a diagnosis that names the causes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Cause, Diagnosis, Engine, Evidence, Limit, Remedy, Window
from whystall.model.engine_state import EngineState, GpuState
from whystall.model.text import Text
from whystall.pipeline import states_of
from whystall.remedies.choose import remedies

GIB = 2.0**30
WINDOW = Window(start=0.0, end=30.0, seconds=30.0)
LIMITS = {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "num_gpu_blocks": 10_000, "block_size": 16}
LIMITS |= {"max_model_len": 16_384, "gpu_memory_utilization": 0.92}


def phase(**changed: Any) -> dict[str, Any]:
    busy = {"seconds": 30, "running": 16, "waiting": 40, "kv": 0.2, "rate": 8, "prompt": 500, "output": 100}
    return busy | changed


def server(
    *,
    flags: dict[str, str] | None = None,
    limits: dict[str, float] | None = None,
    defaults: tuple[str, ...] = (),
    phases: tuple[dict[str, Any], ...] | None = None,
    **configured: Any,
) -> EngineState:
    """A state; ``limits`` are reported except those named in ``defaults``; ``phases`` as in ``cases/window.py``."""
    given = LIMITS | (limits or {})
    known = tuple(Limit(n, float(v), "default" if n in defaults else "reported", "log") for n, v in given.items() if v)
    usual = {"version": "0.26.0", "device": "cuda", "dtype": "bfloat16", "gpu_name": "NVIDIA H200"}
    set_by_user = {"model": "m"} if flags is None else {"model": "m", **flags}
    configuration = Configuration(**(usual | {"flags": set_by_user, "limits": known} | configured))
    state = states_of(recording_of({"phases": list(phases or (phase(),))}))[0]
    return msgspec.structs.replace(state, configuration=configuration, limits=known)


def gpu(state: EngineState, used_gib: float, total_gib: float = 140.0) -> EngineState:
    """The state with a GPU that has so much memory in use."""
    nothing = state.running_end * float("nan")
    seen = GpuState(
        *(nothing,) * 6, throttle_bits=np.full(len(nothing), -1), max_clock_hz=1.98e9, devices=1, name="NVIDIA H200",
        mem_used_bytes=used_gib * GIB, mem_total_bytes=total_gib * GIB,
    )  # fmt: skip
    return msgspec.structs.replace(state, gpu=seen)


def diagnosis(*causes: str, **strengths: tuple[float, float]) -> Diagnosis:
    """A bottleneck with these causes; evidence as ``budget_full=(value, strength)``."""
    found = tuple(Cause(id, 0.9, "limit", Text("it binds", "受限")) for id in causes)
    seen = tuple(
        Evidence(name.replace("_", ".", 1), value, "", strength, Text("seen", "已见"), "metrics")
        for name, (value, strength) in strengths.items()
    )
    first = tuple(Remedy(f"first_step.{id}", Text("Look.", "检查。"), cause=id) for id in causes)
    return Diagnosis("t", Engine(version="0.26.0"), WINDOW, "bottleneck", Text("x"), found, (), seen, first)


def offered(state: EngineState, *causes: str, **strengths: tuple[float, float]) -> list[Remedy]:
    return list(remedies(diagnosis(*causes, **strengths), state))


def changes(state: EngineState, *causes: str, **strengths: tuple[float, float]) -> list[dict[str, str]]:
    """The flags that are offered, one dictionary a remedy that has some."""
    return [remedy.change for remedy in offered(state, *causes, **strengths) if remedy.change]


def names(state: EngineState, *causes: str, **strengths: tuple[float, float]) -> list[str]:
    """Ids of what is offered, without the cause."""
    return [remedy.id.partition(".")[2] for remedy in offered(state, *causes, **strengths)]
