"""Records incidents of a real vLLM on one GPU, each with a healthy beginning: pages, GPU, log, the client's view.

::

    python benchmarks/gpu/incidents.py start|record|end --site SITE --models DIR --tools TOOLS --out OUT [NAME …]

``start`` brings up the servers of ``SERVERS`` at once and leaves them running, ``record`` runs the named scenarios (all where
none is named, as long as ``--seconds`` allow), ``end`` stops what is left. Runs on the GPU machine's own Python. What is
true of each scenario stands beside it and goes into ``OUT/truth.json``: an answer sheet for benchmarks, not for a diagnosis.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensor_parallel import NO_MULTICAST, SETTINGS, Unsafe, guard, say

HERE = Path(__file__).resolve().parent
COMMON = ["--served-model-name", "m", "--load-format", "dummy", "--host", "127.0.0.1"]
CHAT = {"prompt": [200, 800], "output": [64, 256]}
GIB = 1024**3


@dataclass(frozen=True)
class Server:
    """One server: its port, its model's folder, its flags, the GPUs it sees ("" all) and the cores it may use."""

    port: int
    model: str
    flags: list[str]
    gpus: str = ""
    cores: frozenset[int] = frozenset()


SERVERS = {
    "plain": Server(
        8001,
        "m8b",
        ["--max-model-len", "65536", "--gpu-memory-utilization", "0.66", "--kv-cache-memory-bytes", str(68 * GIB)],
    ),
    "spec": Server(
        8002,
        "m8b",
        [
            "--max-model-len",
            "8192",
            "--gpu-memory-utilization",
            "0.18",
            "--kv-cache-memory-bytes",
            str(3 * GIB),
            "--speculative-config",
            '{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}',
        ],
    ),
    "lora": Server(
        8003,
        "m1b",
        [
            "--max-model-len",
            "8192",
            "--gpu-memory-utilization",
            "0.08",
            "--kv-cache-memory-bytes",
            str(3 * GIB),
            "--enable-lora",
            "--max-loras",
            "1",
            "--max-cpu-loras",
            "2",
            "--max-lora-rank",
            "64",
            "--lora-modules",
            *(f"a{n}={{models}}/adapters/a{n}" for n in range(8)),
        ],
    ),
}


@dataclass(frozen=True)
class Scenario:
    """A run: which server, the load's phases, what is done to the server when, and what is true of it.

    ``limit`` is the limit that was planted, where the first answer may also be what set it off. ``both`` are the right names
    of each of two causes that came at the same time.
    """

    server: str
    phases: list[dict[str, Any]]
    verdict: str | list[str]
    causes: list[str]
    why: str
    also: list[str] = field(default_factory=list)
    either: list[str] = field(default_factory=list)
    onset_s: float | None = 20.0
    limit: str = ""
    onset_tolerance_s: float | None = None
    both: list[list[str]] = field(default_factory=list)
    acts: dict[int, Callable[[Run], Any]] = field(default_factory=dict)


@dataclass
class Run:
    """What the acts of a scenario may touch."""

    server: Server
    places: argparse.Namespace
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def session(self) -> int:
        return int((self.places.out / f"{self.server.port}.pid").read_text())

    def pids(self, name: str = "") -> list[int]:
        """The server's processes, those whose title holds ``name``."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getsid(int(entry.name)) == self.session():
                    title = (entry / "cmdline").read_bytes() + (entry / "comm").read_bytes()
                    if name.encode() in title:
                        found.append(int(entry.name))
            except (OSError, ProcessLookupError):
                continue
        return found

    def start(self, *command: str) -> None:
        self.started.append(subprocess.Popen([sys.executable, *command]))


def pinned(cores: set[int]) -> Callable[[Run], None]:
    """Give all threads of the server these cores only."""

    def act(run: Run) -> None:
        for pid in run.pids():
            for thread in Path(f"/proc/{pid}/task").iterdir():
                try:
                    os.sched_setaffinity(int(thread.name), cores)
                except OSError:
                    continue

    return act


def signalled(number: signal.Signals) -> Callable[[Run], None]:
    """Send the engine's process a signal."""

    def act(run: Run) -> None:
        for pid in run.pids("EngineCore"):
            os.kill(pid, number)

    return act


def neighbour(run: Run) -> None:
    """Another program computes on the same GPU."""
    go = run.places.out / "go"
    go.touch()
    run.start(str(HERE / "neighbour.py"), "cuda:0", str(go), "32")


def delayed(run: Run) -> None:
    run.start(str(HERE / "slow_proxy.py"), str(run.server.port), "9001", "0.6")


EVERY_CORE = set(range(os.cpu_count() or 1))


def calm(seconds: int, rate: float = 8, **more: Any) -> dict[str, Any]:
    return {"seconds": seconds, "streams": [{"rate": rate, **CHAT, **more}]}


def with_calm(stream: dict[str, Any], before: int = 20, after: int = 32, rate: float = 8) -> list[dict[str, Any]]:
    """A calm beginning, then the same with another stream beside it."""
    return [calm(before, rate), {"seconds": after, "streams": [{"rate": rate, **CHAT}, stream]}]


SCENARIOS = {
    "swing": Scenario(
        "plain", [calm(17, 4), calm(17, 14), calm(17, 6)], "healthy", [], "chat at 4, 14, 6 requests/s", onset_s=None
    ),
    "think": Scenario(
        "plain",
        [{"seconds": 45, "streams": [{"concurrency": 6, "think": 2.0, **CHAT}]}],
        "healthy",
        ["client_limited", "low_demand"],
        "six clients that think for 2 s between requests",
        onset_s=None,
    ),
    "giant": Scenario(
        "plain",
        with_calm({"burst": 1, "every": 7, "prompt": 60000, "output": 8}),
        "bottleneck",
        ["head_of_line_prompt", "prefill_interference"],
        "a 60,000-token prompt every 7 s among chats",
        also=["longer_prompts", "prefill_bound"],
    ),
    "burst": Scenario(
        "plain",
        with_calm({"burst": 400, "every": 16, "prompt": 1000, "output": 64}),
        "bottleneck",
        ["burst"],
        "400 requests of 1,000 tokens at once every 16 s",
        also=["prefill_bound", "overload", "seat_cap", "prefill_interference"],
    ),
    "prefill": Scenario(
        "plain",
        with_calm({"rate": 14, "prompt": 4000, "output": 16}),
        "bottleneck",
        ["prefill_bound", "longer_prompts", "prefill_interference", "overload"],
        "56,000 prompt tokens/s are offered, about 37,000 computed",
    ),
    "long_outputs": Scenario(
        "plain",
        with_calm({"rate": 24, "prompt": 200, "output": 2500}),
        "bottleneck",
        ["seat_cap", "longer_outputs", "overload", "decode_bandwidth"],
        "24 requests/s of 2,500 output tokens are added: seats or bandwidth fill",
        also=["burst"],
    ),
    "long_decode": Scenario(
        "plain",
        with_calm({"concurrency": 16, "prompt": 30000, "output": 2000}, after=40),
        "bottleneck",
        ["decode_bandwidth", "longer_prompts", "prefill_interference", "prefill_bound"],
        "16 contexts of 30,000 tokens are read at every step",
    ),
    "schemas": Scenario(
        "plain",
        with_calm({"rate": 12, "prompt": 200, "output": 64, "schema": 24}),
        "bottleneck",
        ["structured_output"],
        "12 requests/s with a JSON schema each of its own",
        also=["engine_loop_cpu", "frontend_cpu"],
    ),
    "logprobs": Scenario(
        "plain",
        with_calm({"concurrency": 96, "prompt": 100, "output": 200, "logprobs": 20}),
        "bottleneck",
        ["sampler_cpu", "frontend_cpu", "engine_loop_cpu"],
        "96 clients ask for 20 log probabilities a token",
    ),
    "texts": Scenario(
        "plain",
        with_calm({"rate": 6, "text": 250_000, "prompt": 0, "output": 8}),
        "bottleneck",
        ["frontend_cpu", "prefill_bound", "longer_prompts", "prefill_interference"],
        "6 requests/s of 250,000 characters",
        also=["head_of_line_prompt"],
    ),
    "one_core": Scenario(
        "plain",
        [calm(20, 20), calm(32, 20)],
        "bottleneck",
        ["cpu_starved"],
        "all processes of the server on one core from 20 s on",
        also=["frontend_cpu", "engine_loop_cpu"],
        acts={20: pinned({0}), 50: pinned(EVERY_CORE)},
    ),
    "gpu_shared": Scenario(
        "plain",
        [calm(20, 10), calm(32, 10)],
        "bottleneck",
        ["slow_kernel", "gpu_fault"],
        "another program computes on the same GPU from 20 s on",
        also=["gpu_throttle"],
        acts={20: neighbour},
    ),
    "slow_way": Scenario(
        "plain",
        [calm(20), calm(32, url="http://127.0.0.1:9001")],
        "bottleneck",
        ["network", "gateway"],
        "from 20 s on through a proxy that holds each answer for 0.6 s",
        acts={15: delayed},
    ),
    "standstill": Scenario(
        "plain",
        [calm(50, 6)],
        "bottleneck",
        ["engine_hang"],
        "the engine's process is stopped from 25 to 40 s",
        onset_s=25.0,
        acts={25: signalled(signal.SIGSTOP), 40: signalled(signal.SIGCONT)},
    ),
    "spec_calm": Scenario(
        "spec", [calm(40, 3)], "healthy", ["low_demand"], "chat at 3 requests/s with n-gram drafts", onset_s=None
    ),
    "spec_wide": Scenario(
        "spec",
        with_calm({"concurrency": 48, "prompt": 200, "output": 256}, rate=2),
        "bottleneck",
        ["spec_decode_inefficient", "kv_capacity"],
        "48 clients under n-gram drafts that are hardly accepted",
    ),
    "adapters": Scenario(
        "lora",
        [calm(20, 4, adapters=["a0"]), calm(35, 8, adapters=[f"a{n}" for n in range(8)])],
        "bottleneck",
        ["lora_swapping"],
        "eight adapters in turn, one fits",
        also=["seat_cap"],
    ),
    "give_up": Scenario(
        "plain",
        with_calm({"rate": 20, "prompt": 2000, "output": 600, "give_up": 1.0}),
        "bottleneck",
        ["client_limited", "overload", "prefill_bound", "prefill_interference"],
        "20 clients a second hang up after one second",
    ),
    "dead": Scenario(
        "plain",
        [calm(30, 6)],
        "bottleneck",
        ["engine_dead"],
        "the engine's process is killed at 20 s",
        acts={20: signalled(signal.SIGKILL)},
    ),
}


@dataclass(frozen=True)
class Catalogue:
    """What may be recorded: servers by name, and scenarios that name their server."""

    servers: dict[str, Server]
    scenarios: dict[str, Scenario]


def environment(site: Path, gpus: str = "") -> dict[str, str]:
    seen = {"CUDA_VISIBLE_DEVICES": gpus} if gpus else {}
    return {**os.environ, **SETTINGS, **NO_MULTICAST, **seen, "PYTHONPATH": str(site)}


def launch(name: str, server: Server, places: argparse.Namespace) -> None:
    """Start a server in a session of its own, so that it outlives this call."""
    flags = [flag.replace("{models}", str(places.models)) for flag in server.flags]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(places.models / server.model)]
    log = (places.out / f"{name}.log").open("ab")  # a server that is started again goes on in its log
    started = subprocess.Popen(
        [*command, *COMMON, "--port", str(server.port), *flags],
        env=environment(places.site, server.gpus),
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    if server.cores:
        os.sched_setaffinity(started.pid, server.cores)
    (places.out / f"{server.port}.pid").write_text(str(started.pid))


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
    except (urllib.error.URLError, OSError):
        return False
    return True


def start(places: argparse.Namespace, servers: dict[str, Server]) -> None:
    """Start the servers one after another's model load and wait for all; one that fails is named and left out.

    Every process is checked for the variables that keep NVLink multicast off, until its server answers.
    """
    begin = time.monotonic()
    for name, server in servers.items():
        launch(name, server, places)
        time.sleep(4)
    waiting = dict(servers)
    while waiting and time.monotonic() - begin < places.seconds:
        time.sleep(1)
        for name, server in list(waiting.items()):
            guard(Run(server, places).session(), {})
            if answers(server.port):
                say(f"{name} answers after {time.monotonic() - begin:.0f} s")
                del waiting[name]
            elif not Run(server, places).pids():
                say(f"{name} ended: {(places.out / f'{name}.log').read_text(errors='replace')[-1500:]}")
                del waiting[name]


def sampler(places: argparse.Namespace, url: str, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """``whystall record`` where ``--whystall`` says where it lies, else the shared sampler; SIGTERM ends either."""
    if not places.whystall:
        return subprocess.Popen([sys.executable, str(places.tools / "sample.py"), url, str(folder)])
    command = [sys.executable, "-m", "whystall", "record", url, "-o", str(folder), "--force", "--for", "600s"]
    said = (places.out / "recorder.log").open("ab")
    return subprocess.Popen(
        [*command, "--log", str(log)], env={**os.environ, "PYTHONPATH": places.whystall}, stdout=said, stderr=said
    )


def record(name: str, scenario: Scenario, server: Server, places: argparse.Namespace, seed: int) -> None:
    """One scenario's recording, under ``OUT/NAME``."""
    folder, url = places.out / "runs" / name, f"http://127.0.0.1:{server.port}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "phases.json").write_text(json.dumps(scenario.phases))
    log = places.out / f"{scenario.server}.log"
    run = Run(server, places)
    pages = sampler(places, url, folder, log)
    time.sleep(2 if places.whystall else 0)  # its first page is to be of before the load
    load = subprocess.Popen(
        [
            sys.executable,
            str(HERE / "load_kinds.py"),
            url,
            str(folder / "phases.json"),
            str(folder / "requests.jsonl"),
            str(seed),
        ]
    )
    begin = time.time()
    for second, act in sorted(scenario.acts.items()):
        time.sleep(max(0.0, begin + second - time.time()))
        act(run)
    try:
        load.wait(timeout=max(1.0, begin + sum(p["seconds"] for p in scenario.phases) + 15 - time.time()))
    except subprocess.TimeoutExpired:
        load.kill()
    for process in (pages, *run.started):
        process.terminate()
        process.wait(timeout=10)
    keep(folder, log, url)
    truth = {"verdict": scenario.verdict, "causes": scenario.causes, "also": scenario.also, "onset_s": scenario.onset_s}
    for key in ("either", "limit", "onset_tolerance_s", "both"):
        truth |= {key: getattr(scenario, key)} if getattr(scenario, key) else {}
    truth |= {"why": scenario.why, "load_start": begin, "phases": scenario.phases, "server": scenario.server}
    (places.out / "runs" / f"{name}.truth.json").write_text(json.dumps(truth, indent=1))
    say(f"{name}: {sum(1 for _ in (folder / 'requests.jsonl').open())} requests")


def keep(folder: Path, log: Path, url: str) -> None:
    """The server's own words beside the pages, everything packed."""
    if not (folder / "server.log.gz").exists():
        shutil.copy(log, folder / "server.log")
    for page in ("server_info", "version"):
        try:
            with urllib.request.urlopen(f"{url}/{page}", timeout=5) as answer:
                (folder / f"{page}.json").write_bytes(answer.read())
        except (urllib.error.URLError, OSError):
            continue
    for path in (folder / "metrics.prom", folder / "requests.jsonl", folder / "server.log", folder / "gpu.jsonl"):
        if not path.exists():
            continue
        with path.open("rb") as source, gzip.open(f"{path}.gz", "wb") as sink:
            shutil.copyfileobj(source, sink)
        if path.name != "requests.jsonl":
            path.unlink()


def drained(server: Server, limit_s: float = 12) -> None:
    """Wait until what the last scenario left has run out."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except (urllib.error.URLError, OSError):
            return
        if all(
            line.endswith(" 0.0")
            for line in lines
            if line.startswith(("vllm:num_requests_running{", "vllm:num_requests_waiting{"))
        ):
            return
        time.sleep(0.5)


def main(catalogue: Catalogue) -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=("start", "record", "end"))
    parser.add_argument("names", nargs="*")
    for name in ("site", "models", "tools", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--whystall", default="", help="a PYTHONPATH with whystall, which then does the recording")
    parser.add_argument("--seconds", type=float, default=300)
    places = parser.parse_args()
    places.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + places.seconds
    if places.act == "start":
        try:
            start(places, {name: catalogue.servers[name] for name in places.names or catalogue.servers})
        except Unsafe:
            end_all(catalogue, places)
            raise
    elif places.act == "record":
        for name in places.names or catalogue.scenarios:
            recorded_in_time(name, catalogue, places, end)
    else:
        end_all(catalogue, places)


def end_all(catalogue: Catalogue, places: argparse.Namespace) -> None:
    """End every server that was started here, with what it started."""
    for server in catalogue.servers.values():
        if (places.out / f"{server.port}.pid").exists():
            for pid in Run(server, places).pids():
                os.kill(pid, signal.SIGKILL)


def recorded_in_time(name: str, catalogue: Catalogue, places: argparse.Namespace, end: float) -> None:
    """The scenario's recording, where its server runs and enough time is left."""
    scenario = catalogue.scenarios[name]
    server = catalogue.servers[scenario.server]
    needed = sum(phase["seconds"] for phase in scenario.phases) + 18
    if time.monotonic() + needed > end or not answers(server.port):
        say(f"{name}: left out")
        return
    drained(server)
    record(name, scenario, server, places, 100 + list(catalogue.scenarios).index(name))


if __name__ == "__main__":
    main(Catalogue(SERVERS, SCENARIOS))
