"""Steps that take longer than any reading of the device's memory, and batches that no CUDA graph was captured for."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text
from whystall.state.histograms import quantile_of

from .devices import device
from .saturation import ridge, tokens_a_step
from .scene import Scene
from .thresholds import ramp


def slow_steps(scene: Scene) -> Iterator[Evidence]:
    """Evidence that steps are slower than their work can make them."""
    yield from _beyond_memory(scene)
    yield from _graph_gap(scene)


def _beyond_memory(scene: Scene) -> Iterator[Evidence]:
    """The usual ITL against one read of the whole memory, for steps under the ridge: those read, they do not compute."""
    gpu, configuration = scene.state.gpu, scene.state.configuration
    sheet = device(gpu.name if gpu is not None and gpu.name else configuration.gpu_name)
    usual, tokens = quantile_of(scene.state.itl, 0.5, scene.inside)[0], tokens_a_step(scene)
    if sheet is None or not math.isfinite(usual) or not tokens < ridge(scene):
        return
    times = usual / sheet.read_all_s
    text = Text(
        "the usual step takes {itl:~3} ms; reading all of the {name}'s memory takes under {read:.0f} ms",
        "通常一步需 {itl:~3} 毫秒；读完 {name} 的全部显存不到 {read:.0f} 毫秒",
    )
    words = text.format(itl=1e3 * usual, name=sheet.match, read=1e3 * sheet.read_all_s)
    yield scene.evidence("itl.beyond_memory", times, "ratio", ramp(math.log(times), 0.0, math.log(3.0)), words)


def _graph_gap(scene: Scene) -> Iterator[Evidence]:
    """Tokens of a decode step against the largest captured batch: with speculation each request has several."""
    configuration = scene.state.configuration
    largest, running = configuration.max_graph_batch, scene.mean(scene.state.running_end)
    if not largest or configuration.enforce_eager or not math.isfinite(running):
        return
    tokens = running * (1 + _drafts(configuration))
    text = Text(
        "a decode step holds {tokens:one token|# tokens} and the largest CUDA graph {largest:.0f}",
        "每个解码步有 {tokens:.0f} 个 token，而最大的 CUDA graph 为 {largest:.0f}",
    )
    strength = ramp(tokens / largest, 1.0, 1.25)
    yield scene.evidence(
        "config.graph_gap", tokens / largest, "ratio", strength, text.format(tokens=tokens, largest=largest), "config"
    )


def _drafts(configuration: Configuration) -> float:
    text = configuration.flags.get("speculative_config.num_speculative_tokens", "")
    return float(text) if text.isdigit() else 0.0
