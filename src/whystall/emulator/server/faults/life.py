"""Faults of a server's life: starting, stopping, coming back otherwise."""

from __future__ import annotations

import msgspec

from whystall.emulator.server.deployment import Action, Deployment


def engine_hang(d: Deployment, t: float, _severity: float) -> None:
    d.hung = True
    text = (
        "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes "
        "are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization)."
    )

    def tell(deployment: Deployment, now: float) -> None:
        deployment.log.line(now, text, process="EngineCore", place="shm_broadcast.py:109")
        deployment.at(now + 60, tell)

    d.at(t + 60, tell)


def engine_dead(d: Deployment, t: float, _severity: float) -> None:
    d.die(t)
    d.log.line(t, "EngineCore encountered a fatal error.", level="ERROR", process="EngineCore", place="core.py:1510")
    d.log.line(t, "AsyncLLM output_handler failed.", level="ERROR", place="async_llm.py:906")


def oom(d: Deployment, t: float, severity: float) -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB."
    d.log.line(t, text, level="ERROR", process="EngineCore", place="core.py:1509")
    engine_dead(d, t, severity)


def startup_failure(d: Deployment, t: float, _severity: float) -> None:
    """The server is stopped, and does not come back: nobody listens any more."""
    d.die(t, "ServerDisconnectedError")
    d.ready_at = float("inf")
    d.log.line(t, "EngineCore failed to start.", level="ERROR", process="EngineCore", place="core.py:1511")
    text = "Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    d.log.line(t, text, level="ERROR", place="utils.py:1432")


def weight_loading(d: Deployment, t: float, severity: float) -> None:
    """The server starts anew, and reads its weights from a slow disk for nearly all of that time."""
    d.restart(d.serving, t, down_s=120 * severity, loading_s=110 * severity)


def warm_up(d: Deployment, t: float, severity: float) -> None:
    """For a minute steps meet shapes that they have not seen: extra time that dies away."""
    for wait in range(12):
        d.at(t + 5.0 * wait, pausing(0.12 * severity * (12 - wait)))


def pausing(seconds: float) -> Action:
    """An action that makes the next step of every engine longer."""

    def action(d: Deployment, _now: float) -> None:
        for replica in d.replicas:
            replica.engine.pause += seconds

    return action


def config_regression(d: Deployment, t: float, severity: float) -> None:
    """A restart with other flags: fewer seats, and no prefix cache."""
    changed = msgspec.structs.replace(
        d.serving.options, max_num_seqs=max(int(8 / severity), 1), enable_prefix_caching=False
    )
    flags = {**d.serving.flags, "max_num_seqs": changed.max_num_seqs, "enable_prefix_caching": False}
    d.restart(msgspec.structs.replace(d.serving, options=changed, flags=flags), t)


def version_regression(d: Deployment, t: float, severity: float) -> None:
    """A restart into another version, whose steps are slower."""
    slower = d.serving.profile.scaled(floor_s=1 + 0.6 * severity, token_s=1 + 0.6 * severity)
    version = "0.32" if d.serving.version == "0.26" else "0.26"
    d.restart(msgspec.structs.replace(d.serving, profile=slower, version=version), t)
