"""Scenes and evidence of windows that are described by a few numbers (see ``cases/window.py``)."""

from __future__ import annotations

from typing import Any

from cases.window import recording_of
from whystall.evidence.families import collect
from whystall.evidence.scene import Scene
from whystall.model.diagnosis import Evidence
from whystall.model.slo import Slo
from whystall.pipeline import states_of

CALM = {"seconds": 20, "running": 8, "kv": 0.1, "rate": 4.0, "prompt": 200, "output": 200, "itl_ms": 10}
ARGV = ["vllm", "serve", "m", "--max-num-seqs", "64", "--max-num-batched-tokens", "8192"]
ARGV += ["--num-gpu-blocks-override", "20000", "--block-size", "16"]


def scene_of(*phases: dict[str, Any], slo: Slo | None = None, **case: Any) -> Scene:
    """The scene of a window whose phases are :data:`CALM` with the changes that each names."""
    described = {"argv": ARGV, "phases": [{**CALM, **phase} for phase in phases], **case}
    return Scene(states_of(recording_of(described))[0], slo)


def evidence_of(*phases: dict[str, Any], slo: Slo | None = None, **case: Any) -> dict[str, Evidence]:
    """All evidence of such a window, by id."""
    return collect(scene_of(*phases, slo=slo, **case))
