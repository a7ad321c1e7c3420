"""A profile from whole recordings: step by step where the log tells, else interval by interval from the counters."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.profile import StepProfile
from whystall.model.configuration import Configuration, IterationColumns
from whystall.model.recording import Recording, SeriesTable
from whystall.sources.log import read_iterations

from .calibration import StepSamples, fit_front, fit_profile, step_samples
from .counters import increases
from .series import split_engines

_USUAL_BUDGET = 8192  # max_num_batched_tokens and captured batches where nothing tells them: vllm.md section 5.5
_USUAL_GRAPHS = 512
_LONG_S = 60.0  # a step longer than that is a stall
_FEW = 20
_FULL = 0.98  # of the largest step: the token budget was used up
_MANY = 4000  # steps of one log that a fit takes


def calibrate(recorded: Sequence[tuple[Recording, Configuration]], name: str) -> StepProfile:
    """The profile that fits the recordings of one model on one machine, whatever their loads.

    Raises TooLittleData where their intervals of steady work are too few.
    """
    samples = [samples_of(recording, configuration) for recording, configuration in recorded]
    configuration = recorded[0][1]
    profile = fit_profile([s for s in samples if len(s)], name)
    between = [gap for recording, own in recorded if (gap := time_between_steps(recording, own)) is not None]
    blocks = configuration.limit("num_gpu_blocks")
    return msgspec.structs.replace(
        profile,
        source=f"whystall calibrate over {len(recorded)} recording(s) of vLLM {configuration.version or '?'}",
        host_s=sum(between) / len(between) if between else profile.host_s,
        front_s=fit_front([recording.metrics for recording, _ in recorded]),
        model=configuration.model,
        gpu="cpu" if configuration.device == "cpu" else configuration.gpu_name,
        tensor_parallel=configuration.tensor_parallel or 1,
        weights_bytes=configuration.weights_bytes or 0.0,
        kv_blocks=int(blocks.value) if blocks else 0,
    )


def samples_of(recording: Recording, configuration: Configuration) -> StepSamples:
    """What one recording says of its steps. The log's steps are used where steps do not overlap."""
    blocks, size = configuration.limit("num_gpu_blocks"), configuration.limit("block_size")
    tokens = blocks.value * (size.value if size else 16) if blocks else 0.0
    iterations = read_iterations(recording.log)
    if iterations is not None and len(iterations.t) > 1 and not configuration.async_scheduling:
        return iteration_samples(iterations, tokens)
    budget = configuration.limit("max_num_batched_tokens")
    return step_samples(
        recording.metrics,
        cache_tokens=tokens,
        token_budget=int(budget.value) if budget else _USUAL_BUDGET,
        graph_tokens=graph_tokens(configuration),
    )


def time_between_steps(recording: Recording, configuration: Configuration) -> float | None:
    """Seconds between steps that do not overlap: what the counters' steps take more than the log's ``elapsed``."""
    return None if configuration.async_scheduling else table_gap(recording.metrics, read_iterations(recording.log))


def table_gap(table: SeriesTable, iterations: IterationColumns | None) -> float | None:
    """The same of a table and the steps that its log has; None where either says too little."""
    if iterations is None or len(iterations.t) < _FEW:
        return None
    series = split_engines(table)[0]
    running = series.total("num_requests_running")
    steps = increases(series.total("iteration_tokens_total", "count"))
    busy = (np.minimum(running[:-1], running[1:]) >= 1) & (steps > 0)
    if busy.sum() < _FEW:
        return None
    taken = float(np.diff(table.times)[busy].sum() / steps[busy].sum())
    return max(taken - float(iterations.elapsed_s.mean()), 0.0)


def iteration_samples(iterations: IterationColumns, cache_tokens: float) -> StepSamples:
    """One sample a step, from ``--enable-logging-iteration-details``. ``elapsed`` is the step only without overlap."""
    usable = (iterations.elapsed_s > 0) & (iterations.elapsed_s < _LONG_S)
    usable &= iterations.context_tokens + iterations.generation_tokens > 0
    rows = np.flatnonzero(usable)[:: max(int(usable.sum()) // _MANY, 1)]
    prefill = iterations.context_tokens[rows]
    chunks = np.maximum(iterations.context_requests[rows], 1)
    requests = iterations.generation_requests[rows]
    return StepSamples(
        seconds=iterations.elapsed_s[rows],
        steps=np.ones(len(rows)),
        requests=requests,
        context=iterations.kv_usage_ratio[rows] * cache_tokens,
        depth=_depth(iterations)[rows] + prefill / chunks / 2,
        graphs=np.zeros(len(rows)),
        mixed=(prefill > 0).astype(float)[:, None],
        tokens=(prefill + requests)[:, None],
    )


def _depth(iterations: IterationColumns) -> NDArray[np.float64]:
    """Tokens of a prompt that earlier steps computed, by step: a full step with prefill is taken to go on in the next."""
    total = iterations.context_tokens + iterations.generation_tokens
    full = (total >= _FULL * total.max(initial=1.0)) & (iterations.context_tokens > 0)
    depth = np.zeros(len(total))
    for step in range(1, len(total)):
        if full[step - 1] and iterations.context_tokens[step] > 0:
            depth[step] = depth[step - 1] + iterations.context_tokens[step - 1]
    return depth


def graph_tokens(configuration: Configuration) -> int:
    """The largest captured batch, 0 where steps run without CUDA graphs."""
    if configuration.enforce_eager or configuration.device == "cpu":
        return 0
    return int(configuration.max_graph_batch or _USUAL_GRAPHS)
