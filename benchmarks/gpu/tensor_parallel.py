"""Records a real vLLM at tensor-parallel 2: pages, GPUs, log, the client's view, and each rank's profiler trace.

::

    python benchmarks/gpu/tensor_parallel.py --site SITE --model MODEL --tools TOOLS --profiles DIR --out OUT

SITE is the unpacked ``pack.sh``, MODEL a folder of ``model_folder.py``, TOOLS holds ``load.py`` and ``sample.py``.
Runs on the GPU machine's own Python, standard library only, and makes under OUT:

``tp2``            healthy load, one profiler window
``tp2_neighbour``  the same load; from 12 s another program computes on the second GPU, a window at 22 s
``tp2_single``     one request alone in a window, no recording
``tp2_eager``      the same model with ``--enforce-eager``, a window

NVLink multicast stays off: a program that uses it can put a shared host's GPUs out of service. Every process of the
server is checked for the variables that keep it off, from its start until it answers; one without them ends the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
URL = "http://127.0.0.1:8000"
START_S, WINDOW_S, STEPS = 330, 7, 30
NO_MULTICAST = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
    "VLLM_ALLREDUCE_USE_SYMM_MEM": "0",
    "VLLM_ALLREDUCE_USE_FLASHINFER": "0",
}
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_SERVER_DEV_MODE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "NCCL_SOCKET_IFNAME": "lo",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,ENV",
    "SPT_NOENV": "1",  # a process that renames itself would write over the environment that is checked
}
MIX = [[0.8, 512, 200], [0.2, 4000, 64]]


class Unsafe(Exception):
    """A process of the server runs without the variables that keep NVLink multicast off."""


class NotReady(Exception):
    """The server ended or did not answer in time."""


@dataclass(frozen=True)
class Places:
    """Where things lie on the machine."""

    site: Path
    model: Path
    tools: Path
    profiles: Path
    out: Path


def command(places: Places, more: list[str]) -> list[str]:
    """The server's command line."""
    profiler = {
        "profiler": "torch",
        "torch_profiler_dir": str(places.profiles),
        "torch_profiler_with_stack": "false",
        "torch_profiler_record_shapes": "true",
        "torch_profiler_dump_cuda_time_total": "false",
        "ignore_frontend": "true",
        "max_iterations": str(STEPS),
    }
    flags = ["--model", str(places.model), "--served-model-name", "m", "--load-format", "dummy"]
    flags += ["--host", "127.0.0.1", "--port", "8000", "--max-model-len", "16384", "--gpu-memory-utilization", "0.5"]
    flags += ["--tensor-parallel-size", "2", "--disable-custom-all-reduce"]
    for key, value in profiler.items():
        flags += [f"--profiler-config.{key}", value]
    return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *flags, *more]


def environment(places: Places) -> dict[str, str]:
    """The server's environment."""
    nccl = {"NCCL_DEBUG_FILE": str(places.out / "nccl.%p.log")}
    return {**os.environ, **SETTINGS, **nccl, **NO_MULTICAST, "PYTHONPATH": str(places.site)}


def processes(session: int) -> Iterator[int]:
    """The processes of a session."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    yield int(entry.name)
            except ProcessLookupError:
                continue


def guard(session: int, seen: dict[int, str]) -> None:
    """Check each process's environment; remember its name. Raises ``Unsafe``."""
    for pid in processes(session):
        try:
            if "python" not in Path(f"/proc/{pid}/exe").readlink().name:
                continue  # a compiler: it opens no GPU
            raw = Path(f"/proc/{pid}/environ").read_bytes()
            name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80].strip()
        except OSError:
            continue
        if not raw:  # ended, or between fork and exec
            continue
        pairs = dict(item.split("=", 1) for item in raw.decode(errors="replace").split("\0") if "=" in item)
        wrong = {key: pairs.get(key) for key, value in NO_MULTICAST.items() if pairs.get(key) != value}
        if wrong:
            raise Unsafe(f"process {pid} ({name}): {wrong}")
        seen[pid] = name


def call(path: str, body: Any = None, timeout: float = 60) -> str:
    """A GET, or with ``body`` a POST of JSON; the answer's text."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read().decode()


def until_ready(server: subprocess.Popen[bytes], seen: dict[int, str]) -> None:
    """Wait for ``/health`` while every process of the server is checked."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        guard(server.pid, seen)
        if server.poll() is not None:
            raise NotReady(f"the server ended with {server.returncode}")
        try:
            call("/health", timeout=2)
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            guard(server.pid, seen)
            return
    raise NotReady(f"no answer within {START_S} s")


@contextmanager
def running(places: Places, log: Path, more: list[str]) -> Iterator[None]:
    """A server that answers, and that is ended with all its processes afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    begin, seen = time.monotonic(), {}
    with log.open("wb") as sink:
        server = subprocess.Popen(
            command(places, more), env=environment(places), stdout=sink, stderr=sink, start_new_session=True
        )
    try:
        until_ready(server, seen)
        say(f"ready after {time.monotonic() - begin:.0f} s; environment right in {len(seen)} processes:")
        for pid, name in seen.items():
            say(f"  {pid} {name}")
        yield
    finally:
        stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, number)
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    for pid in list(processes(server.pid)):
        os.kill(pid, signal.SIGKILL)


def window(places: Places, name: str) -> dict[str, float]:
    """One profiler window of ``STEPS`` steps; its files go to ``OUT/NAME/profiles``."""
    begin = time.time()
    call("/start_profile", {})
    time.sleep(WINDOW_S)
    call("/stop_profile", {})
    keep_profiles(places, name)
    return {"start": begin, "end": time.time()}


def keep_profiles(places: Places, name: str) -> None:
    target = places.out / name / "profiles"
    target.mkdir(parents=True, exist_ok=True)
    for path in places.profiles.rglob("*.json*"):
        path.rename(target / path.name)


def record(
    places: Places, name: str, seed: int, seconds: int, concurrency: int, acts: dict[int, Callable[[], Any]]
) -> None:
    """One recording under load; ``acts`` are called so many seconds after the load's start."""
    folder = places.out / name
    folder.mkdir(parents=True, exist_ok=True)
    phases = [{"seconds": seconds, "concurrency": concurrency, "mix": MIX}]
    (folder / "phases.json").write_text(json.dumps(phases))
    tool = [sys.executable, str(places.tools / "sample.py"), URL, str(folder)]
    sampler = subprocess.Popen(tool)
    time.sleep(3)
    tool = [sys.executable, str(places.tools / "load.py"), "--url", URL, "--model", "m"]
    tool += ["--phases", str(folder / "phases.json"), "--out", str(folder / "requests.jsonl")]
    tool += ["--seed", str(seed)]  # the same prompts again would come out of the prefix cache
    load, begin, done = subprocess.Popen(tool), time.time(), {}
    for second, act in sorted(acts.items()):
        time.sleep(max(0.0, begin + second - time.time()))
        done[str(second)] = {"at": time.time() - begin, "gave": act()}
    load.wait(timeout=seconds + 60)
    time.sleep(2)
    sampler.terminate()
    sampler.wait(timeout=10)
    (folder / "server_info.json").write_text(call("/server_info"))
    (folder / "version.json").write_text(call("/version"))
    (folder / "run.json").write_text(json.dumps({"load_start": begin, "phases": phases, "acts": done}, indent=1))
    say(f"{name}: {sum(1 for _ in (folder / 'requests.jsonl').open())} requests")


def single(places: Places) -> None:
    """One request alone in a profiler window: a prefill, then decode steps of one sequence."""
    call("/start_profile", {})
    rng = random.Random(11)
    prompt = [rng.randrange(10, 32_000) for _ in range(2000)]
    call("/v1/completions", {"model": "m", "prompt": prompt, "max_tokens": 20, "ignore_eos": True})
    call("/stop_profile", {})
    keep_profiles(places, "tp2_single")


def neighbour_run(places: Places) -> None:
    """The recording in which another program computes on the second GPU from 12 s on."""
    go = places.out / "go"
    tool = [sys.executable, str(HERE / "neighbour.py"), "cuda:1", str(go), "25"]
    neighbour = subprocess.Popen(tool)
    try:
        acts = {12: go.touch, 22: lambda: window(places, "tp2_neighbour")}
        record(places, "tp2_neighbour", 2, 36, 24, acts)
    finally:
        neighbour.terminate()
        neighbour.wait(timeout=10)


def graphs(places: Places) -> None:
    """The three runs on the server with CUDA graphs."""
    with running(places, places.out / "tp2" / "server.log", []):
        record(places, "tp2", 1, 36, 24, {14: lambda: window(places, "tp2")})
        single(places)
        neighbour_run(places)


def eager(places: Places) -> None:
    """The run on the eager server."""
    with running(places, places.out / "tp2_eager" / "server.log", ["--enforce-eager"]):
        record(places, "tp2_eager", 3, 22, 16, {8: lambda: window(places, "tp2_eager")})


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> None:
    """Both servers, the second only if enough of ``--seconds`` is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("site", "model", "tools", "profiles", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=540)
    args = vars(parser.parse_args())
    end = time.monotonic() + args.pop("seconds")
    places = Places(**args)
    places.profiles.mkdir(parents=True, exist_ok=True)
    places.out.mkdir(parents=True, exist_ok=True)
    graphs(places)
    left = end - time.monotonic()
    say(f"{left:.0f} s left")
    if left > 150:
        eager(places)


if __name__ == "__main__":
    main()
