"""The emulator's own record of a run: what its scheduler, its clock, its processes and its load really did.

Nothing here reads what whystall reads (the page, the samples, the client's lines): a why that is printed is compared
with this. Statements are worded as the evidence's ids name them, and each is computed from the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whystall.emulator.engine.batch import Batch
from whystall.emulator.engine.engine import Engine
from whystall.emulator.server.deployment import Deployment, Replica

Facts = dict[str, float]


class Record:
    """Looks into a deployment while it runs. Make it before the faults are set."""

    def __init__(self, deployment: Deployment, at_s: float, seconds: float) -> None:
        self.deployment = deployment
        self.start = deployment.now
        self.onset, self.end = self.start + at_s, self.start + seconds
        self.sent: list[tuple[float, int, int]] = []
        self.steps: list[tuple[float, float, int, float]] = []  # with prefill: end, seconds, tokens, share of budget
        self.replicas: list[Replica] = []
        self.first: list[Any] = []  # requests that had their first token
        self.preempted: list[float] = []  # when
        self.odd: list[tuple[float, float]] = []  # gaps that skipped steps: when, seconds
        self.kernels: list[tuple[Engine, float]] = []  # at the onset
        self.cpu_s = 0.0
        self.restarts = 0
        self._watch_load()
        self._watch(deployment)
        deployment.at(self.onset, lambda d, _t: self._at_onset(d))
        restart = deployment.restart

        def restarted(*args: Any, **named: Any) -> None:
            restart(*args, **named)
            self.restarts += 1
            self._watch(deployment)

        deployment.restart = restarted  # type: ignore[method-assign]

    def _at_onset(self, d: Deployment) -> None:
        self.kernels = [(r.engine, r.engine.clock.kernel_s) for r in d.replicas]
        self.cpu_s = d.front.cpu_s

    def _watch_load(self) -> None:
        traffic = self.deployment.traffic
        send = traffic.send

        def watched(request: Any) -> None:
            self.sent.append((request.arrival, request.prompt_tokens, request.output_tokens))
            send(request)

        traffic.send = watched

    def _watch(self, d: Deployment) -> None:
        for replica in d.replicas:
            self.replicas.append(replica)
            replica.engine.clock.seconds = self._timed(replica.engine)  # type: ignore[method-assign]
            replica.meters.absorb = self._before(replica, replica.meters.absorb)  # type: ignore[method-assign]

    def _before(self, replica: Replica, absorb: Callable[[], None]) -> Callable[[], None]:
        """The meters empty the journal with each page: what it held is kept here."""

        def absorbed() -> None:
            self._keep(replica)
            absorb()

        return absorbed

    def _keep(self, replica: Replica) -> None:
        journal = replica.engine.journal
        self.first += journal.first
        self.preempted += journal.preemptions
        self.odd += zip(journal.odd_t, journal.odd_gap, strict=True)

    def _timed(self, engine: Engine) -> Callable[[Batch], float]:
        plain = engine.clock.seconds
        budget = engine.options.token_budget

        def seconds(batch: Batch) -> float:
            took = plain(batch)
            if any(chunk.tokens > 1 for chunk in batch.chunks):
                self.steps.append((engine.now, took, batch.tokens, batch.tokens / budget))
            return took

        return seconds

    def facts(self) -> Facts:
        """All statements over the time after the onset, some against the time before it."""
        for replica in self.replicas:
            replica.meters.absorb()
        found = self._of_steps() | self._of_requests() | self._of_load() | self._of_host()
        return {name: float(value) for name, value in found.items() if np.isfinite(value)}

    # -- what the scheduler did

    def _columns(self) -> dict[str, np.ndarray]:
        names = ("end", "gap", "running", "waiting", "free_blocks", "regular", "generated")
        parts = {n: [r.engine.journal.columns(n) for r in self.replicas] for n in names}
        seats = [np.full(len(r.engine.journal.end), r.engine.options.seats) for r in self.replicas]
        pool = [np.full(len(r.engine.journal.end), r.engine.options.num_gpu_blocks) for r in self.replicas]
        joined = {n: np.concatenate(arrays) for n, arrays in parts.items()}
        joined |= {"seats": np.concatenate(seats), "pool": np.concatenate(pool)}
        inside = (joined["end"] > self.onset) & (joined["end"] <= self.end)
        return {n: a[inside] for n, a in joined.items()}

    def _of_steps(self) -> Facts:
        c = self._columns()
        gap, waits = c["gap"], c["waiting"] > 0
        waited = float(gap[waits].sum())
        seconds = self.end - self.onset
        seated = waits & (c["running"] >= 0.98 * c["seats"])
        need = self._typical_prompt() / self.replicas[-1].engine.options.block_size
        short = waits & ~seated & (c["free_blocks"] < np.maximum(need, 0.03 * c["pool"]))
        deferred = sum(1 for r in self.replicas for q in self._inside(r) if q.blocked)
        idle_ends = [max((r.engine.journal.end or [self.start])[-1], self.onset) for r in self.deployment.replicas]
        stuck = self.end - max(idle_ends) if any(True for r in self.deployment.replicas for _ in self._inside(r)) else 0
        mixed = [(t, s, n, share) for t, s, n, share in self.steps if t > self.onset]
        prefill_s = sum(s for _, s, _, _ in mixed)
        profile = self.replicas[0].engine.clock.profile
        ridge = profile.floor_s / max(profile.token_s, 1e-12)
        regular = c["regular"]
        odd = [seconds for t, seconds in self.odd if t > self.onset]
        tokens = float(regular.sum()) + len(odd)
        lone = self._decode_step()
        return {
            "waiting_share": waited / seconds,
            "seats_share": _share(gap, seated, waited),
            "short_share": _share(gap, short, waited),
            "waiting_end": float(c["waiting"][-1]) if len(gap) else 0.0,
            "waiting_start": self._waiting_at_onset(),
            "running_mean": float(np.average(c["running"], weights=gap)) if gap.sum() > 0 else 0.0,
            "preemptions": sum(t > self.onset for t in self.preempted),
            "prefill_share": prefill_s / seconds / max(len(self.deployment.replicas), 1),
            "budget_share": sum(s for _, s, _, b in mixed if b >= 0.9) / prefill_s if prefill_s else 0.0,
            "compute_share": sum(s for _, s, n, _ in mixed if n >= ridge) / prefill_s if prefill_s else 0.0,
            "made_per_s": float(c["generated"].sum()) / seconds,
            "longest_gap_s": float(gap.max(initial=0.0)),
            "stuck_s": stuck,
            "deferred": deferred + self.deferred_seen,
            "itl_s": (float((gap * regular).sum()) + sum(odd)) / tokens if tokens else np.nan,
            "decode_itl_s": lone,
            "steps_per_s": len(gap) / seconds,
        }

    @property
    def deferred_seen(self) -> float:
        options = self.deployment.serving.options
        return float(options.max_loras > 0)

    def _decode_step(self) -> float:
        """Seconds of a step that only decodes, at the mean number of running requests before the onset."""
        clock = self.replicas[0].engine.clock
        journal = self.replicas[0].engine.journal
        before = journal.columns("end") <= self.onset
        running = journal.columns("running")[before]
        count = max(int(running.mean()) if len(running) else 1, 1)
        fixed, slope, least, _ = clock.decode_line(count)
        return max(fixed + slope * count * self._typical_prompt(), least)

    def _waiting_at_onset(self) -> float:
        total = 0.0
        for replica in self.replicas:
            end = replica.engine.journal.columns("end")
            place = int(np.searchsorted(end, self.onset)) - 1
            total += replica.engine.journal.waiting[place] if place >= 0 else 0
        return total

    def _inside(self, replica: Replica) -> list[Any]:
        scheduler = replica.engine.scheduler
        return [*scheduler.running.values(), *scheduler.waiting]

    def _typical_prompt(self) -> float:
        prompts = [p for t, p, _ in self.sent if t > self.onset] or [p for _, p, _ in self.sent] or [1.0]
        return float(np.mean(prompts))

    # -- what happened to requests

    def _of_requests(self) -> Facts:
        now = self.end
        waits, front, hits, before = [], [], [0.0, 0.0], [0.0, 0.0]
        inside = [request for replica in self.replicas for request in self._inside(replica)]
        for request in {id(request): request for request in [*self.first, *inside]}.values():
            queued, scheduled = request.queued, request.scheduled
            if queued == queued and (scheduled != scheduled or scheduled > self.onset):
                waits.append((scheduled if scheduled == scheduled else now) - queued)
            if queued == queued and queued > self.onset:
                front.append(queued - request.arrival)
        for request in self.first:
            side = before if request.first_token <= self.onset else hits
            side[0] += request.hit_tokens
            side[1] += request.prompt_tokens
        return {
            "queue_s": float(np.mean(waits)) if waits else 0.0,
            "front_s": float(np.mean(front)) if front else 0.0,
            "hit_before": before[0] / before[1] if before[1] else np.nan,
            "hit_after": hits[0] / hits[1] if hits[1] else np.nan,
        }

    # -- what the load was

    def _of_load(self) -> Facts:
        sent = np.asarray(self.sent, dtype=np.float64).reshape(-1, 3)
        after, before = sent[sent[:, 0] > self.onset], sent[sent[:, 0] <= self.onset]
        dt_after, dt_before = self.end - self.onset, self.onset - self.start
        plan = self.deployment.traffic.plan
        counts = np.bincount((after[:, 0] - self.onset).astype(int)) if len(after) else np.zeros(1)
        usual = float(np.median(after[:, 1])) if len(after) else np.nan
        return {
            "prompts_ratio": after[:, 1].mean() / before[:, 1].mean() if len(after) and len(before) else np.nan,
            "outputs_ratio": after[:, 2].mean() / before[:, 2].mean() if len(after) and len(before) else np.nan,
            "rate_ratio": (len(after) / dt_after) * dt_before / len(before) if len(before) else np.nan,
            "surge_ratio": counts.max() * dt_before / len(before) if len(before) else np.nan,
            "dispersion": float(counts.var() / counts.mean()) if counts.mean() > 0 else 0.0,
            "giant_ratio": float(after[:, 1].max() / usual) if len(after) else np.nan,
            "closed": float(plan.clients > 0),
            "clients": float(plan.clients),
        }

    # -- what the processes and the device did

    def _of_host(self) -> Facts:
        d = self.deployment
        seconds = self.end - self.onset
        busy = sum(e.clock.kernel_s - at for e, at in self.kernels)
        state = d.replicas[0].gpu.state
        options = d.serving.options
        clock = d.replicas[0].engine.clock
        running = max((len(r.engine.scheduler.running) for r in d.replicas), default=1)
        fixed, slope, least, _ = clock.decode_line(max(running, 1))
        context = slope * running * self._typical_prompt()
        return {
            "gpu_idle_share": max(1 - busy / seconds / max(len(self.kernels), 1), 0.0),
            "api_cores": (d.front.cpu_s - self.cpu_s) / seconds,
            "api_slowdown": d.front.costs.slowdown,
            "host_share": min(least / max(fixed + context, least), 1.0),
            "clock_ratio": state.clock_ratio,
            "throttle_bits": state.throttle_bits,
            "xid": state.xid,
            "network_s": d.network_s,
            "buffer_bytes": d.buffer_bytes,
            "dead": float(not d.alive),
            "hung": float(d.hung),
            "refused": float(sum(d.refused.values())),
            "eager": float(clock.profile.max_graph_tokens == 0),
            "lora": float(options.max_loras > 0),
            "leaked_bytes": d.leaked_bytes,
            "restarts": self.restarts,
            "unready": float(d.ready_at > self.end),
        }


def _share(gap: np.ndarray, chosen: np.ndarray, of: float) -> float:
    return float(gap[chosen].sum()) / of if of > 0 else 0.0


def limits_that_bound(facts: Facts) -> set[str]:
    """The limits through which a change of the load hurt, by the scheduler's record (method.md 2.5: I5, I6, I7, I8)."""
    found: set[str] = set()
    if facts["waiting_share"] > 0.2:
        if facts["seats_share"] > 0.3:
            found.add("seat_cap")
        if facts["short_share"] > 0.3 or facts["preemptions"] > 5:
            found.add("kv_capacity")
        if not found and facts["prefill_share"] > 0.6:
            found |= {"prefill_bound"} | ({"token_budget"} if facts["compute_share"] < 0.5 else set())
        if not found:  # "in that order": overload is what is left when no limit that could be raised bound
            found.add("overload")
    if facts.get("itl_s", 0.0) > 2 * facts.get("decode_itl_s", 1e9) and facts["prefill_share"] > 0.3:
        found.add("prefill_interference")
    return found


def reached(fault: str, facts: Facts) -> bool:
    """Whether the limit that ``fault`` plants ever held anybody up; True for faults that plant none.

    Fewer than one waiting second in fifty is chance; each limit counts by the scheduler's own reason.
    """
    waited = facts["waiting_share"] > 0.02
    held: dict[str, bool] = {
        "kv_capacity": (waited and facts["short_share"] > 0.05) or facts["preemptions"] > 0,
        "seat_cap": waited and facts["seats_share"] > 0.05,
        "token_budget": waited and facts["budget_share"] > 0.2,
        "queue_limit": facts["refused"] > 0,
        "head_of_line_prompt": waited,
    }
    return held.get(fault, True)


def _planned(fault: str) -> Callable[[Facts], bool]:
    return lambda f: f.get(f"fault.{fault}", 0.0) > 0


# What each piece of evidence states, by the emulator's record. Levels are those at which the statement is plain.
TRUE: dict[str, Callable[[Facts], bool]] = {
    "queue.delay": lambda f: f["queue_s"] > 0.15 or f["waiting_share"] > 0.3,
    "queue.growing": lambda f: f["waiting_end"] > f["waiting_start"] + 5,
    "queue.refused": lambda f: f["refused"] > 0,
    "queue.deferred": lambda f: f["deferred"] > 0,
    "seats.full": lambda f: f["seats_share"] > 0.2,
    "kv.saturated": lambda f: f["short_share"] > 0.2,
    "kv.preemptions": lambda f: f["preemptions"] > 0,
    "budget.full": lambda f: f["budget_share"] > 0.2,
    "prefill.busy": lambda f: f["prefill_share"] > 0.5,
    "prefill.ceiling": lambda f: f["compute_share"] > 0.4,
    "compute.full": lambda f: f["prefill_share"] > 0.5 and f["compute_share"] > 0.3,
    "itl.mixed_steps": lambda f: f["itl_s"] > 1.5 * f["decode_itl_s"] and f["prefill_share"] > 0.2,
    "itl.frozen": lambda f: f["longest_gap_s"] > 1,
    "progress.stalled": lambda f: f["longest_gap_s"] > 1.4 or f["stuck_s"] > 1.4,
    "progress.frozen": lambda f: f["dead"] + f["hung"] > 0 or f["stuck_s"] > 5,
    "prompts.longer": lambda f: f["prompts_ratio"] > 1.2,
    "outputs.longer": lambda f: f["outputs_ratio"] > 1.2,
    "requests.more": lambda f: f["rate_ratio"] > 1.15,
    "requests.surge": lambda f: f["surge_ratio"] > 1.5,
    "prompts.giant": lambda f: f["giant_ratio"] > 4,
    "prompts.victims": lambda f: f["giant_ratio"] > 4 and f["waiting_share"] > 0.05,
    "prefix.lost": lambda f: f["hit_before"] - f["hit_after"] > 0.1,
    "arrivals.bursty": lambda f: f["dispersion"] > 2,
    "demand.low": lambda f: f["running_mean"] < 3,
    "clients.pool": lambda f: f["closed"] > 0,
    "front.residual": lambda f: f["front_s"] > 0.1,
    "api.core": lambda f: f["api_cores"] > 0.7,
    "cpu.wanted": lambda f: f["api_slowdown"] > 1,
    "step.host_gap": lambda f: f["gpu_idle_share"] > 0.3,
    "engine.core": lambda f: f["host_share"] > 0.9,
    "gpu.held_down": lambda f: f["throttle_bits"] > 0,
    "gpu.step_follows_clock": lambda f: f["clock_ratio"] < 1,
    "gpu.cap_lowered": lambda f: False,
    "client.gap": lambda f: f["network_s"] + f["buffer_bytes"] > 0,
    "client.clumps": lambda f: f["buffer_bytes"] > 0,
    "client.refused": lambda f: f["refused"] > 0,
    "client.send_lag": lambda f: False,
    "http.errors": lambda f: f["refused"] + f["dead"] > 0,
    "config.eager": lambda f: f["eager"] > 0,
    "config.lora": lambda f: f["lora"] > 0,
    "log.profiler": _planned("observability_overhead"),
    "log.jit_compile": _planned("jit_compile"),
    "log.gc_pause": _planned("gc_pause"),
    "log.gpu_fault": _planned("gpu_fault"),
    "log.out_of_memory": _planned("oom"),
    "log.engine_dead": lambda f: f["dead"] > 0,
    "log.rank_stalled": lambda f: f["hung"] > 0,
    "log.killed": _planned("host_memory_leak"),
    "config.changed": _planned("config_regression"),
    "memory.growth": _planned("host_memory_leak"),
    "memory.dropped": lambda f: f.get("fault.host_memory_leak", 0.0) > 0 and f["restarts"] > 0,
    "server.away": lambda f: f["restarts"] + f["unready"] > 0,
    "startup.failed": lambda f: f["unready"] > 0,
    "startup.fresh": lambda f: f["restarts"] > 0,
    "startup.loading": _planned("weight_loading"),
    "mm.computed": _planned("multimodal_preprocessing"),
    "peers.load": _planned("replica_imbalance"),
    "peers.room": _planned("replica_imbalance"),
}


def agrees(evidence: str, below: bool, facts: Facts) -> bool | None:
    """Whether the record says the same as a why that rests on ``evidence``; None where it says nothing of it."""
    known = TRUE.get(evidence)
    if known is None:
        return None
    try:
        return known(facts) != below
    except KeyError:
        return None
