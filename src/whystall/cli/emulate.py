"""``whystall emulate``: a vLLM server without a GPU, with the faults that are asked for."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click
from click.core import ParameterSource

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.app import Face
from whystall.emulator.server.clock import Clock
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import FAULTS, Planned, inject, parse_fault, prepared
from whystall.emulator.server.faults.scene import load_of
from whystall.emulator.server.openai import Limits
from whystall.emulator.server.page import versions
from whystall.emulator.server.profiler import Profiler
from whystall.emulator.server.serve import serving
from whystall.emulator.server.spans import SpanExporter
from whystall.emulator.server.traffic import TrafficPlan
from whystall.errors import NotWritable, UsageError

from .kept_emulator import keep_emulator
from .loading import MAX_LENGTH, token_span

_ENGINE_FLAGS: tuple[tuple[str, str, type], ...] = (
    ("--num-gpu-blocks-override", "num_gpu_blocks", int),
    ("--block-size", "block_size", int),
    ("--max-model-len", "max_model_len", int),
    ("--max-num-seqs", "max_num_seqs", int),
    ("--max-num-active-seqs", "max_num_active_seqs", int),
    ("--max-num-batched-tokens", "max_num_batched_tokens", int),
    ("--max-num-queued-reqs", "max_num_queued_reqs", int),
    ("--max-num-queued-tokens", "max_num_queued_tokens", int),
    ("--long-prefill-token-threshold", "long_prefill_token_threshold", int),
    ("--watermark", "watermark", float),
)
_LOAD = (
    "note: its own load is one on which {fault} shows: {rate:g} requests/s, prompts of {low} to {high} tokens; "
    "--rate or --clients gives yours, --rate 0 none"
)
_SWITCHES = (
    ("--enable-prefix-caching/--no-enable-prefix-caching", "enable_prefix_caching"),
    ("--enable-chunked-prefill/--no-enable-chunked-prefill", "enable_chunked_prefill"),
    ("--scheduler-reserve-full-isl/--no-scheduler-reserve-full-isl", "scheduler_reserve_full_isl"),
    ("--async-scheduling/--no-async-scheduling", "async_scheduling"),
)


def _engine_flags(command: Any) -> Any:
    """vLLM's own flags, by their own names."""
    for flag, name, kind in reversed(_ENGINE_FLAGS):
        command = click.option(flag, name, type=kind, help="As vLLM's.")(command)
    for flag, name in reversed(_SWITCHES):
        command = click.option(flag, name, default=None, help="As vLLM's.")(command)
    kinds = click.Choice(["auto", "fp8", "fp8_e4m3", "fp8_e5m2"])
    command = click.option("--kv-cache-dtype", "kv_cache_dtype", type=kinds, help="As vLLM's.")(command)
    share = click.option("--gpu-memory-utilization", "gpu_memory_utilization", type=float, help="As vLLM's.")
    command = share(command)
    policy = click.Choice(["fcfs", "priority"])
    return click.option("--scheduling-policy", "scheduling_policy", type=policy, help="As vLLM's.")(command)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--profile", "profile_name", default="h200-8b", show_default=True, help="Model and GPU, or a file.")
@click.option("--served-model-name", default="m", show_default=True, help="The model's name.")
@click.option("--vllm-version", type=click.Choice(versions()), default="0.32", show_default=True, help="Whose page.")
@click.option("--speed", type=click.FloatRange(0.01, 1000), default=1.0, show_default=True, help="Times real time.")
@click.option("--replicas", type=click.IntRange(1, 64), default=1, show_default=True, help="Engines on one page.")
@click.option("--seed", type=int, default=1, show_default=True, help="Two runs of a seed are alike.")
@click.option("--rate", type=click.FloatRange(0, 100_000), default=0.0, help="Its own load: requests a second.")
@click.option("--clients", type=click.IntRange(0, 100_000), default=0, help="Its own load: clients that wait.")
@click.option(
    "--prompt", default="200-800", show_default=True, callback=token_span, help="Prompt tokens of its own load."
)
@click.option(
    "--output", default="100-300", show_default=True, callback=token_span, help="Output tokens of its own load."
)
@click.option("--shared-prefix", type=click.IntRange(0, MAX_LENGTH), default=0, help="Tokens all prompts share.")
@click.option("--fault", "faults", multiple=True, metavar="ID[@SECONDS][*SEVERITY]", help="Set a fault; --list-faults.")
@click.option("--list-faults", is_flag=True, help="Say which faults there are, and end.")
@click.option("--keep", is_flag=True, help="Start it, let it go on and end; whystall fix can then change it.")
@click.option("--log-file", type=click.Path(dir_okay=False, path_type=Path), help="Where its log goes.")
@click.option("--otlp-traces-endpoint", default="", help="Where its llm_request spans go (OTLP over HTTP).")
@click.option("--torch-profiler-dir", type=click.Path(file_okay=False, path_type=Path), help="Enables /start_profile.")
@_engine_flags
def emulate(**asked: Any) -> int:
    """Serve an emulated vLLM with the faults you set.

    It answers /v1/completions, /v1/chat/completions, /metrics, /health and the rest as vLLM does, and schedules as
    vLLM's own scheduler. How long a step takes comes from a profile. Runs until Ctrl-C.

    Try: whystall emulate --fault seat_cap@60 --speed 3, and in another terminal: whystall diagnose :8000 --for 90s. With
    --keep it goes on in the background under a keeper that restarts it as whystall fix asks.
    """
    if asked["list_faults"]:
        for fault in FAULTS.values():
            click.echo(f"{fault.id:26}{fault.mechanism}")
        return 0
    if asked["keep"]:
        keep_emulator(click.get_current_context(), asked["host"], asked["port"])
        return 0
    planned = [parse_fault(text) for text in asked["faults"]]
    if planned:
        asked = _with_load(asked, planned[0].fault.id, _given(asked))
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(asked, planned))
    return 0


def _given(asked: dict[str, Any]) -> set[str]:
    """The options that stand on the command line."""
    context = click.get_current_context()
    return {name for name in asked if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}


def _with_load(asked: dict[str, Any], fault: str, given: set[str]) -> dict[str, Any]:
    """Where no load was asked for, the one on which ``fault`` shows: without any, most faults change nothing."""
    if given & {"rate", "clients"}:
        return asked
    load = load_of(fault)
    scene = {
        "rate": load.rate,
        "prompt": load.prompt,
        "output": load.output,
        "shared_prefix": load.shared_prefix,
        "replicas": load.replicas,
        "profile_name": load.profile,
        "max_model_len": load.max_model_len,
        "num_gpu_blocks": load.num_gpu_blocks or None,
    }
    click.echo(_LOAD.format(fault=fault, rate=load.rate, low=load.prompt[0], high=load.prompt[1]), err=True)
    return asked | {name: value for name, value in scene.items() if name not in given}


async def _serve(asked: dict[str, Any], planned: list[Planned]) -> None:
    log = _log(asked["log_file"])
    try:
        face = _face(asked, planned, log)
        async with serving(face, asked["port"], asked["host"]) as url:
            click.echo(f"{url}/metrics")
            await _until_told()
    finally:
        if log is not None:
            log.close()


def _log(file: Path | None) -> IO[str] | None:
    try:
        return None if file is None else file.open("a", encoding="utf-8")
    except OSError as error:
        raise NotWritable(
            f"the log {file} cannot be written: {error.strerror}",
            "Choose another --log-file, in a folder that is there.",
        ) from None


def _face(asked: dict[str, Any], planned: list[Planned], log: IO[str] | None) -> Face:
    profile = load_profile(asked["profile_name"])
    if asked.get("gpu_memory_utilization") is not None:
        profile = profile.with_memory_share(asked["gpu_memory_utilization"])
    profile = profile.with_kv_cache_dtype(asked.get("kv_cache_dtype") or "auto")
    options, flags = _options(asked, profile)
    clock = Clock(asked["speed"])
    mix = (LengthClass(1.0, asked["prompt"], asked["output"], shared_prefix=asked["shared_prefix"]),)
    serving_ = Serving(
        options=options,
        profile=profile,
        model_name=_plain(asked["served_model_name"]),
        version=asked["vllm_version"],
        replicas=asked["replicas"],
        seed=asked["seed"],
        traffic=TrafficPlan(mix=mix, rate=asked["rate"], clients=asked["clients"]),
        flags=flags,
    )
    serving_ = prepared(serving_, planned)
    deployment = Deployment(serving_, start=clock.start, log=log)
    for fault in planned:
        inject(deployment, fault)
    endpoint, folder = asked["otlp_traces_endpoint"], asked["torch_profiler_dir"]
    return Face(
        deployment,
        clock,
        limits=Limits(serving_.model_name, serving_.options.max_model_len),
        spans=SpanExporter(endpoint) if endpoint else None,
        profiler=Profiler(folder) if folder else None,
        seed=asked["seed"],
    )


def _options(asked: dict[str, Any], profile: StepProfile) -> tuple[EngineOptions, dict[str, object]]:
    """The engine's options, and those that were set, as the log repeats them."""
    names = [name for _, name, _ in _ENGINE_FLAGS] + [name for _, name in _SWITCHES] + ["scheduling_policy"]
    given = {name: asked[name] for name in names if asked[name] is not None}
    large = profile.memory_bytes >= 70 * 1024**3 and not profile.gpu.startswith("a100")
    defaults = {
        "num_gpu_blocks": profile.kv_blocks or 2048,
        "async_scheduling": profile.gpu != "cpu",
        "max_model_len": min(16384, max((profile.kv_blocks - 1) * 16, 1024)),
    }
    defaults |= _batch({**defaults, **given}, *((1024, 8192) if large else (256, 2048)))
    flags = {("num_gpu_blocks_override" if k == "num_gpu_blocks" else k): v for k, v in given.items()}
    flags |= {name: asked[name] for name in ("kv_cache_dtype", "gpu_memory_utilization") if asked.get(name) is not None}
    return EngineOptions(**{**defaults, **given}).check_start(), {"model": profile.model, **flags}


def _batch(known: dict[str, Any], seats: int, budget: int) -> dict[str, int]:
    """What vLLM makes of its defaults of seats and budget: each gives way to what was set of the other."""
    if known.get("enable_chunked_prefill") is False:
        budget = max(budget, known["max_model_len"])
    budget = min(budget, known.get("max_num_seqs", seats) * known["max_model_len"])
    return {
        "max_num_seqs": max(min(seats, known.get("max_num_batched_tokens", budget)), 1),
        "max_num_batched_tokens": budget,
    }


def _plain(name: str) -> str:
    if not name or json.dumps(name) != f'"{name}"' or len(name) > 200:
        raise UsageError(f"{name!r} cannot be a model's name", "Use letters, digits, and . - _ /")
    return name


async def _until_told() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
