"""Profiles computed from data sheets: right in order and ratio, wide in error, and marked so.

Formulas: method.md section 1 (I9, I12) and its calibrated constants: weights are read at 86% of the memory's rate, KV
at 95%, dense work reaches about half of the tensor peak. Two all-reduces a layer under tensor parallelism.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from whystall.emulator.engine.profile import StepProfile

_WEIGHT_READ = 0.86  # of the memory's rate
_KV_READ = 0.95
_COMPUTE = 0.5  # of the dense 16-bit tensor peak
_GIB = 1024**3
_ACTIVATIONS_BYTES = 3 * _GIB  # activations, graphs and runtime, per GPU
_MEMORY_SHARE = 0.92  # gpu_memory_utilization's default
_HOST_S = 1.2e-3  # scheduling and launching a full graph
_HOST_LAYER_S = 4e-4  # launching a layer's kernels on piecewise graphs
_HOST_EAGER_LAYER_S = 8e-4  # and one by one
Link = Literal["nvlink", "pcie"]


class Gpu(msgspec.Struct, frozen=True):
    """A GPU's data sheet: bytes, bytes a second, dense 16-bit FLOP a second, bus bytes a second by link."""

    name: str
    memory_bytes: float
    bandwidth: float
    flops: float
    nvlink: float
    pcie: float


class Model(msgspec.Struct, frozen=True):
    """A dense decoder: parameters, layers, hidden size, KV heads and their size, in 16 bits."""

    name: str
    parameters: float
    layers: int
    hidden: int
    kv_heads: int
    head_dim: int


class Machine(msgspec.Struct, frozen=True):
    """A model on some GPUs of a kind."""

    gpu: Gpu
    model: Model
    tensor_parallel: int
    link: Link

    @property
    def name(self) -> str:
        tail = f"-tp{self.tensor_parallel}-{self.link}" if self.tensor_parallel > 1 else ""
        return f"{self.gpu.name}-{self.model.name}{tail}"


# Bus rates are per GPU and direction as all-reduce sees them; cards without NVLink have the PCIe rate for both.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("a100-40gb", 40 * _GIB, 1.555e12, 312e12, 230e9, 20e9),
        Gpu("a100-80gb", 80 * _GIB, 2.039e12, 312e12, 230e9, 20e9),
        Gpu("h100", 80 * _GIB, 3.35e12, 989e12, 360e9, 40e9),
        Gpu("h200", 141 * _GIB, 4.8e12, 989e12, 360e9, 40e9),
        Gpu("l40s", 48 * _GIB, 0.864e12, 362e12, 20e9, 20e9),
        Gpu("rtx4090", 24 * _GIB, 1.008e12, 330e12, 16e9, 16e9),
        Gpu("b200", 180 * _GIB, 8.0e12, 2250e12, 700e9, 40e9),
        Gpu("mi300x", 192 * _GIB, 5.3e12, 1307e12, 310e9, 40e9),
    )
}
MODELS = {
    model.name: model
    for model in (
        Model("8b", 8.0e9, 32, 4096, 8, 128),
        Model("32b", 32.8e9, 64, 5120, 8, 128),
        Model("70b", 70.6e9, 80, 8192, 8, 128),
    )
}
_NAME = re.compile(r"(?P<gpu>[a-z0-9]+(?:-\d+gb)?)-(?P<model>\d+b)(?:-tp(?P<tp>[1248]))?(?:-(?P<link>nvlink|pcie))?")


def parse_name(name: str) -> Machine | None:
    """The machine that ``name`` stands for, None where it is none."""
    match = _NAME.fullmatch(name.lower())
    if match is None or match["gpu"] not in GPUS or match["model"] not in MODELS:
        return None
    link: Link = "pcie" if match["link"] == "pcie" else "nvlink"
    return Machine(GPUS[match["gpu"]], MODELS[match["model"]], int(match["tp"] or 1), link)


def datasheet_profile(machine: Machine) -> StepProfile:
    """The profile of ``machine``. Its error is about 30% in steps, more where the host or the link binds."""
    gpu, model, ranks = machine.gpu, machine.model, machine.tensor_parallel
    weights = 2 * model.parameters / ranks
    kv_token = 2 * model.layers * max(model.kv_heads / ranks, 1) * model.head_dim * 2
    bus = gpu.nvlink if machine.link == "nvlink" else gpu.pcie
    reduced = 2 * model.layers * (2 * (ranks - 1) / ranks)  # all-reduces, each counted with the ring's share
    latency = 6e-6 if machine.link == "nvlink" else 20e-6
    room = _MEMORY_SHARE * gpu.memory_bytes - weights - _ACTIVATIONS_BYTES
    return StepProfile(
        name=machine.name,
        origin="data sheet",
        error_ratio=0.3,
        source="data sheets; method.md section 1",
        floor_s=weights / (_WEIGHT_READ * gpu.bandwidth),
        token_s=2 * model.parameters / ranks / (_COMPUTE * gpu.flops),
        host_s=_HOST_S,
        host_request_s=5e-6,
        host_mixed_s=_HOST_LAYER_S * model.layers,
        host_eager_s=_HOST_EAGER_LAYER_S * model.layers,
        decode_context_s=kv_token / (_KV_READ * gpu.bandwidth),
        decode_request_s=8e-6,
        mixed_context_s=kv_token / (_KV_READ * gpu.bandwidth),
        mixed_request_s=8e-6,
        pair_s=4 * model.layers * model.hidden / ranks / (_COMPUTE * gpu.flops),
        link_s=2 * model.layers * latency if ranks > 1 else 0.0,
        link_token_s=reduced * 2 * model.hidden / bus,
        front_s=3e-3,
        max_graph_tokens=512,
        model=model.name,
        gpu=gpu.name,
        tensor_parallel=ranks,
        weights_bytes=weights,
        kv_token_bytes=kv_token,
        memory_bytes=gpu.memory_bytes,
        kv_blocks=max(int(room / (kv_token * 16)), 0),
    )
