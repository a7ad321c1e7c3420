"""The profile of a server that is known by its GPU and its weights."""

from __future__ import annotations

from whystall.emulator.engine.profile import StepProfile

from . import fitted_names, load_profile
from .datasheet import GPUS, MODELS, Machine, datasheet_profile

_ALIKE = 0.25  # weights that differ by less are of models that read alike


def profile_for(
    gpu: str, weights_bytes: float | None, *, model: str = "", tensor_parallel: int = 1, eager: bool = False
) -> StepProfile | None:
    """The fitted profile of this GPU and model, else the one that data sheets give; None where neither is known.

    ``gpu`` as the driver names it ("cpu" for a CPU), ``weights_bytes`` a GPU. Where the weights are not known a model is
    told by its name's last part.
    """
    name = gpu.lower().replace(" ", "").replace("-", "")
    for fitted in map(load_profile, fitted_names()):
        if fitted.tensor_parallel != tensor_parallel or eager == bool(fitted.max_graph_tokens):
            continue  # a server without graphs has other step times
        if fitted.gpu in name and _same(fitted, weights_bytes, model):
            return fitted
    if not weights_bytes:
        return None
    sheet = max((g for g in GPUS.values() if g.name.split("-")[0] in name), key=lambda g: g.memory_bytes, default=None)
    parameters = weights_bytes * tensor_parallel / 2
    kind = next((m for m in MODELS.values() if abs(m.parameters / parameters - 1) < _ALIKE), None)
    return datasheet_profile(Machine(sheet, kind, tensor_parallel, "nvlink")) if sheet and kind else None


def _same(profile: StepProfile, weights_bytes: float | None, model: str) -> bool:
    if weights_bytes:
        return abs(profile.weights_bytes / weights_bytes - 1) < _ALIKE
    return bool(profile.model) and model.rstrip("/").rpartition("/")[2] == profile.model
