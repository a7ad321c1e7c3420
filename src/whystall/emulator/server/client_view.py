"""What the clients of an emulated server see: lines of ``requests.jsonl``, with what lies between in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.batch import Batch, Outcome
from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.request import Request

from .answers import event_bytes
from .deployment import Deployment

Floats = NDArray[np.float64]


class Steps:
    """Indices of the steps that gave a request its tokens: from ``first`` on, but for those between each of ``gaps``."""

    __slots__ = ("first", "gaps")

    def __init__(self, first: int) -> None:
        self.first = first
        self.gaps: list[tuple[int, int]] = []  # that of the token before, that of the token after


class ClientView:
    """Collects one row for each request of the server's own load that ended, as a load generator writes it.

    A client sends at the intended moment; a request is under way for ``network_s`` before the server has it. What
    buffers the stream hands tokens on in pieces of ``buffer_bytes``. Requests that are still open have no row.
    """

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.rows: list[dict[str, Any]] = []
        self._engines: dict[int, Engine] = {}  # by the number of each request inside
        self._steps: dict[int, Steps] = {}
        self._watched: list[tuple[Engine, Callable[[Request], None]]] = []
        self._event_bytes = event_bytes(deployment.serving.model_name)
        deployment.on_end = self._ended
        deployment.on_unserved = self._failed
        self.watch()

    def watch(self) -> None:
        """Look at engines that are new, as after a restart."""
        for engine in (replica.engine for replica in self.deployment.replicas):
            if all(engine is not known for known, _ in self._watched):
                hook = partial(self._submitted, engine)
                self._watched.append((engine, hook))
                engine.on_submit.append(hook)
                engine.on_result = self._result

    def leave(self) -> None:
        """Look no more."""
        self.deployment.on_end = self.deployment.on_unserved = None
        for engine, hook in self._watched:
            engine.on_submit.remove(hook)
            engine.on_result = None

    def _submitted(self, engine: Engine, request: Request) -> None:
        self._engines[request.id] = engine

    def _result(self, batch: Batch, outcome: Outcome, _end: float) -> None:
        for request, before in outcome.producers:
            if before < 0:
                self._steps[request.id] = Steps(batch.step)
            elif before < batch.step - 1 and request.id in self._steps:
                self._steps[request.id].gaps.append((before, batch.step))

    def _ended(self, request: Request, known: float) -> None:
        engine = self._engines.pop(request.id, None)
        steps = self._steps.pop(request.id, None)
        if engine is None:  # sent before we looked
            return
        if steps is None:  # refused
            self._failed(request, known, "http 503")
            return
        back = known - request.finished
        at = self._handed_on(token_times(engine, steps) + back)
        sent = request.arrival - self.deployment.network_s
        spacing = np.diff(at)
        quantiles = [float(q) for q in np.quantile(spacing, (0.5, 0.99, 1.0))] if len(spacing) else [None] * 3
        self._add(request, request.output_tokens, float(at[0]) - sent, float(at[-1]) - sent, quantiles, None)

    def _handed_on(self, at: Floats) -> Floats:
        """When tokens that were made at ``at`` reach the client: a piece goes on once it is over the buffer's size."""
        together = self.deployment.buffer_bytes // self._event_bytes + 1
        place = np.arange(len(at))
        return at[np.minimum((place // together + 1) * together - 1, len(at) - 1)]

    def _failed(self, request: Request, t: float, error: str) -> None:
        self._engines.pop(request.id, None)
        self._steps.pop(request.id, None)
        sent = request.arrival - self.deployment.network_s
        self._add(request, 0, None, t - sent, [None] * 3, error)

    def _add(
        self,
        request: Request,
        output_tokens: int,
        ttft: float | None,
        e2e: float,
        itl: list[Any],
        error: str | None,
    ) -> None:
        sent = request.arrival - self.deployment.network_s
        row: dict[str, Any] = {"intended": sent, "sent": sent, "prompt_tokens": request.prompt_tokens}
        row |= {"output_tokens": output_tokens, "chunks": output_tokens, "ttft": ttft, "e2e": e2e}
        row |= {"itl_p50": itl[0], "itl_p99": itl[1], "itl_max": itl[2], "error": error}
        self.rows.append(row)


def token_times(engine: Engine, steps: Steps) -> Floats:
    """When the engine had each token of the request whose last one has just come, seconds on its clock."""
    journal = engine.journal
    at = np.asarray(journal.end[steps.first - journal.dropped :])
    kept = np.ones(len(at), dtype=bool)
    for before, after in steps.gaps:
        kept[before + 1 - steps.first : after - steps.first] = False
    return at[kept]
