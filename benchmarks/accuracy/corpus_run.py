"""A case of the corpus run on the emulator: what its users felt, what really happened, what each arm's evidence says."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from corpus_cases import IDLE, SECONDS, Case, serving
from corpus_record import Facts, Record, limits_that_bound, reached
from faults import ALSO

from recordings.transform import metrics_only, thinned, without_scrapes
from whystall.causes.judge import readable, unproven
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.mechanism import lengths, traffic
from whystall.emulator.server.recorder import record_run
from whystall.errors import UsageError, WhystallError
from whystall.evidence.families import collect
from whystall.evidence.impact import impact
from whystall.evidence.scene import Scene
from whystall.model.recording import Recording
from whystall.pipeline import states_of
from whystall.sources.files.recording import read_recording

START = 1_790_000_000.0
Row = dict[str, Any]
# Faults of the load: which limit it then meets, the scheduler's record says.
LOAD = {
    "burst",
    "head_of_line_prompt",
    "longer_outputs",
    "longer_prompts",
    "overload",
    "prefill_bound",
    "prefill_interference",
    "prefix_cache_loss",
    "replica_imbalance",
}
# Limits under more load: another one may bind first, but late tokens are no answer to a queue.
LIMIT = {"kv_capacity", "seat_cap", "token_budget", "queue_limit", "config_regression"}

REGRESSIONS = {"config_regression", "version_regression"}


def _without(*families: str) -> Callable[[Recording], Recording]:
    def drop(recording: Recording) -> Recording:
        table = recording.metrics
        kept = [i for i, key in enumerate(table.keys) if not any(f in key.name for f in families)]
        keys = tuple(table.keys[i] for i in kept)
        return msgspec.structs.replace(
            recording, metrics=msgspec.structs.replace(table, keys=keys, values=table.values[kept])
        )

    return drop


def _unconfigured(recording: Recording) -> Recording:
    """Nobody kept the start: no start-up lines, no command line, no version."""
    first = recording.metrics.times[0]
    log = tuple(line for line in recording.log if line.t is not None and line.t > first)
    return msgspec.structs.replace(recording, log=log, argv=(), server_info="", version="")


ARMS: dict[str, Callable[[Recording], Recording]] = {
    "all": lambda r: r,
    "metrics": metrics_only,
    "no gpu": lambda r: msgspec.structs.replace(r, gpu=None),
    "no log": lambda r: msgspec.structs.replace(r, log=()),
    "no client": lambda r: msgspec.structs.replace(r, client=None),
    "no configuration": _unconfigured,
    "no lengths": _without("request_prompt_tokens", "request_generation_tokens"),
    "no prefix counters": _without("prefix_cache", "prompt_tokens_cached", "prompt_tokens_by_source"),
    "no KV gauge": _without("kv_cache_usage_perc", "num_preemptions"),
    "5 s": lambda r: thinned(r, 5),
    "15 s": lambda r: thinned(r, 15),
}


def run(case: Case) -> Row:
    """The row of ``case``; only those that are kept have ``arms``. ``dropped`` says why another is not."""
    row: Row = {"case": msgspec.to_builtins(case), "key": case.key}
    with tempfile.TemporaryDirectory() as folder:
        try:
            users, facts = _record(case, Path(folder))
            base, before = _record(_base(case), Path(folder) / "base", watched=False)
        except UsageError as error:  # a limit that this hardware cannot have
            return row | {"dropped": f"not possible: {error.message}"}
        row |= {"users": users, "base": base}
        reason = _dropped(case, users, _usual(case, base, Path(folder) / "again")) or unhealthy(base, before)
        if case.control not in ("", "deploy"):
            reason = reason or unhealthy(users, facts)
        if reason or (reason := _unfelt_alone(case, base)):
            return row | {"dropped": reason}
        right = accepted(case, facts)
        if not all(right):
            return row | {"dropped": "the planted limit was never reached"}
        recording = read_recording(Path(folder))
    if case.control == "lost":
        recording = without_scrapes(recording, 0.2, case.seed)
    arms = {name: observed(change(recording)) for name, change in ARMS.items()}
    return row | {"facts": facts, "accepted": right, "arms": arms}


def _unfelt_alone(case: Case, base: dict[str, float]) -> str:
    """Of two faults that come together each must be felt without the other, else there is one to name and not two."""
    for fault in case.faults if len(case.faults) > 1 else ():
        alone = msgspec.structs.replace(case, faults=(fault,))
        with tempfile.TemporaryDirectory() as folder:
            users, _ = _record(alone, Path(folder), watched=False)
        if _dropped(alone, users, base):
            return f"{fault} alone is not felt"
    return ""


def _usual(case: Case, base: dict[str, float], folder: Path) -> dict[str, float]:
    """What users of ``case`` would feel without its fault: after a restart, what another one brings is no loss of it.

    The batch fills anew after any restart: fewer answers in its first seconds are the deploy's.
    """
    if not set(case.faults) & REGRESSIONS:
        return base
    return _record(msgspec.structs.replace(case, faults=(), control="restart"), folder, watched=False)[0]


def _base(case: Case) -> Case:
    """The same run without the fault; a second replica stays."""
    return msgspec.structs.replace(case, faults=(), control="", replicas=case.replicas)


def accepted(case: Case, facts: Facts) -> list[list[str]]:
    """For each fault the causes that are a right answer: those that are true, and what says the same less exactly."""
    return [
        sorted(true | (ALSO.get(f, set()) if f in true else set()))
        for f, true in zip(case.faults, true_causes(case.faults, facts), strict=True)
    ]


def true_causes(faults: Sequence[str], facts: Facts) -> list[set[str]]:
    """For each fault itself, and the limit that the emulator's record says it hurt through.

    A planted limit that the record says was never reached did nothing: what bound instead is what users felt.
    """
    bound = limits_that_bound(facts)
    behind = bound - {"prefill_interference"}
    met = {"prefix_cache_loss": bound - {"overload"}}  # the extra work has a cause
    return [
        {f} | (met.get(f, bound) if f in LOAD else behind if f in LIMIT else set()) if reached(f, facts) else bound
        for f in faults
    ]


def _record(case: Case, folder: Path, watched: bool = True) -> tuple[dict[str, float], Facts]:
    """Run and record ``case``: what users felt, and what really happened. Unless ``watched``, the folder holds little."""
    planned = [Planned(FAULTS[f], case.at_s, _severity(f, case.severity)) for f in case.faults]
    deployment = Deployment(prepared(serving(case), planned), start=START)
    record = Record(deployment, case.at_s, SECONDS)
    for plan in planned:
        inject(deployment, plan)
    _control(case, deployment)
    record_run(deployment, folder, seconds=SECONDS, interval_s=1.0 if watched else 15.0, gpu=watched)
    facts = record.facts() | {f"fault.{name}": 1.0 for name in case.faults}
    since = START + case.at_s
    if (
        set(case.faults) & REGRESSIONS or case.control == "restart"
    ):  # being away for a restart is a deploy's loss: what came back is looked at
        since = min(max(since, deployment.ready_at), START + SECONDS)
    # Answers that are not ended yet have had tokens, too: long ones would seem to be none.
    return felt_by_users(folder, since) | {"tokens_per_s": facts.get("made_per_s", 0.0)}, facts


def _severity(fault: str, severity: float) -> float:
    return 0.25 * severity if fault == "weight_loading" else severity  # it must be up before the run ends


def _control(case: Case, deployment: Deployment) -> None:
    """What goes on in a healthy run."""
    t = START + case.at_s
    if case.control == "deploy":
        deployment.at(t, lambda d, now: d.restart(d.serving, now, down_s=5.0 + case.seed % 15))
    elif case.control == "restart":  # as a regression's, with nothing changed
        deployment.at(t, lambda d, now: d.restart(d.serving, now))
    elif case.control == "drift":
        deployment.at(t, lambda d, _now: traffic(d, lambda plan: lengths(plan, 1.2, 1.2)))
    elif case.control == "flush":
        deployment.at(t, lambda d, _now: _flush(d))


def _flush(deployment: Deployment) -> None:
    """The prefix cache starts anew: what is shared has another content from now on."""

    def other(plan: Any) -> Any:
        mix = tuple(msgspec.structs.replace(c, prefix="after the flush") for c in plan.mix)
        return msgspec.structs.replace(plan, mix=mix)

    traffic(deployment, other)


def felt_by_users(folder: Path, after: float) -> dict[str, float]:
    """Means over requests that were sent after ``after``: seconds to first token, between tokens, of the longest gap;
    the share that failed; requests answered a second, and their tokens."""
    rows = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    seen = [r for r in rows if r["sent"] >= after]
    good = [r for r in rows if not r["error"] and r["sent"] + r["e2e"] >= after]
    fresh = [r for r in seen if not r["error"]]
    seconds = max(SECONDS - (after - START), 1.0)
    itl = [(r["e2e"] - r["ttft"]) / (r["output_tokens"] - 1) for r in good if r["output_tokens"] > 1]
    return {
        "ttft_s": _mean([r["ttft"] for r in fresh]),
        "itl_s": _mean(itl),
        "pause_s": _mean([r["itl_max"] for r in good if r["itl_max"] is not None]),
        "errors": sum(bool(r["error"]) for r in seen) / max(len(seen), 1),
        "answers_per_s": len(good) / seconds,
        "tokens_per_s": sum(r["output_tokens"] for r in good) / seconds,
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else -1.0


def _dropped(case: Case, now: dict[str, float], base: dict[str, float]) -> str:
    """Why a case is left out: nothing moved by a fifth in a way that a user can feel."""
    # Longer answers are fewer by the window's end: that is no loss while their tokens come as fast.
    fewer = all(now[what] < 0.8 * base[what] for what in ("answers_per_s", "tokens_per_s"))
    ttft = now["ttft_s"] - base["ttft_s"] > max(0.2, 0.2 * base["ttft_s"])
    itl = now["itl_s"] > 1.2 * base["itl_s"] and now["itl_s"] > min(0.025, 2 * base["itl_s"])
    pause = now["pause_s"] - base["pause_s"] > 0.5
    hurt = fewer or ttft or itl or pause or now["errors"] > 0.01
    if case.control:
        return "users feel it" if hurt and case.control != "deploy" else ""
    if set(case.faults) <= IDLE:
        return "" if fewer else "as many requests as before"
    return "" if hurt else "users feel nothing"


def unhealthy(users: dict[str, float], facts: Facts) -> str:
    """Why a run is no healthy one by the contract (DESIGN.md, SLO): a felt queue, a felt ITL that would gain a fifth, or
    twice that of its batch, pauses."""
    if facts["queue_s"] > 0.15:
        return "a queue without the fault"
    itl, alone = facts.get("itl_s", 0.0), facts["decode_itl_s"]
    if itl > max(0.025, 1.25 * alone) or itl > 2 * alone:
        return "late tokens without the fault"
    return "pauses without the fault" if users["pause_s"] > 0.2 else ""


def observed(recording: Recording) -> list[Row]:
    """For each engine all that is weighed, with what breaks ties between engines; empty where nothing could be read."""
    try:
        return [_scene(state) for state in states_of(recording)]
    except WhystallError:
        return []


def _scene(state: Any) -> Row:
    if not readable(state):
        return {"hurts": False, "kinds": {}, "unproven": True, "queue_s": 0.0, "evidence": {}}
    scene = Scene(state)
    costs = impact(scene)
    return {
        "hurts": scene.focus.hurts,
        "kinds": {kind: round(share, 4) for kind, share in scene.focus.kinds.items() if share},
        "unproven": unproven(scene, costs) is not None,
        "queue_s": costs.queue_s or 0.0,
        "onset_s": scene.focus.onset.seconds if scene.focus.onset else None,
        "signals": list(state.signals),
        "evidence": {name: round(e.strength, 4) for name, e in collect(scene).items()},
    }
