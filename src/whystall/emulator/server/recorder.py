"""An emulated run kept as a recording folder, as fast as the emulator goes: for benchmarks, tests and the lab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from .client_view import ClientView
from .deployment import Deployment


def gpu_rows(deployment: Deployment, t: float) -> Iterator[dict[str, object]]:
    """An NVML sample of each GPU, the ranks of a replica one after the other."""
    for replica in deployment.replicas:
        work = replica.meters.work()
        for rank in replica.ranks:
            yield replica.gpu.sample(replica.engine, t, *work, rank)


def record_run(
    deployment: Deployment, folder: Path, *, seconds: float, interval_s: float = 1.0, gpu: bool = True
) -> None:
    """Run ``deployment`` for ``seconds`` and keep it in ``folder``: a page each ``interval_s``, GPU samples, the log,
    and a line for each request of its own load that ended.
    """
    folder.mkdir(parents=True, exist_ok=True)
    start = deployment.now
    health = []
    clients = ClientView(deployment)
    with (folder / "metrics.prom").open("w", encoding="utf-8") as pages, (folder / "gpu.jsonl").open("w") as samples:
        for number in range(int(seconds / interval_s) + 1):
            t = start + number * interval_s
            deployment.advance(t)
            clients.watch()
            serves = deployment.alive and t >= deployment.ready_at
            health.append(json.dumps({"t": t, "status": 200 if serves else 503 if t >= deployment.ready_at else 0}))
            if t < deployment.ready_at:
                pages.write(f"# scrape {t:.3f} failed ClientConnectorError\n")
                continue
            pages.write(f"# scrape {t:.3f}\n{deployment.page()}")
            if gpu:
                for index, row in enumerate(gpu_rows(deployment, t)):
                    samples.write(json.dumps({"t": t, "gpu": index, **row}) + "\n")
    if not gpu:
        (folder / "gpu.jsonl").unlink()
    clients.leave()
    lines = [json.dumps(row) for row in clients.rows]
    (folder / "requests.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "health.jsonl").write_text("\n".join(health) + "\n", encoding="utf-8")
    (folder / "server.log").write_text("\n".join(deployment.log.recent) + "\n", encoding="utf-8")
    (folder / "version.json").write_text(json.dumps({"version": f"{deployment.serving.version}.0"}), encoding="utf-8")
