"""The model of the server's steps: fitted to its own window, else that of the same GPU and model, else none."""

from __future__ import annotations

import math
import random
import re

import msgspec

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles import fitted_names, load_profile
from whystall.emulator.profiles.datasheet import GPUS, MODELS, datasheet_profile, parse_name
from whystall.errors import TooLittleData
from whystall.model.configuration import Configuration
from whystall.model.engine_state import EngineState
from whystall.model.prediction import ProfileUsed
from whystall.model.text import Text
from whystall.state.calibration import StepSamples, coefficient_draws
from whystall.state.window_fit import fit_window

from .alike import FIT_DRAWS, another, narrowed
from .gpu_time import busy_step_s, floor_of

# A fit that leaves more than this open does not describe the steps: the machine's own profile says more.
WORST_FIT = 0.25
# Another server of the same GPU and model: clocks, kernels and versions differ (benchmarks/fidelity: 12% at most).
SHIPPED_ERROR = 0.15
_FITTED = Text(
    "fitted to this window's own steps, median error {error:.1%}", "由本窗口自身的步拟合，中位误差 {error:.1%}"
)
_KNOWN_TOO = Text("{a}; what they do not tell is taken from {name}", "{a}；窗口未显示的部分取自 {name}")
_SHIPPED = Text(
    "the profile {name} of the same GPU and model, which may be off by {error:.0%}: this window has too little steady"
    " work for a fit",
    "同款 GPU 与模型的配置 {name}，误差可达 {error:.0%}：本窗口的稳定负载太少，无法拟合",
)
_SAME_SIZE = math.log(1.25)  # between a family's sizes there is at least a factor of two
# A gauge counts a period in which any kernel ran: on H200s it said up to a tenth more than the kernels took.
_GAUGE = (0.9, 1.02)


class Machine(msgspec.Struct, frozen=True):
    """The profile of the steps, how it is known, and the samples that it was fitted on (None: it was not)."""

    profile: StepProfile
    used: ProfileUsed
    samples: StepSamples | None = None
    known: StepProfile | None = None  # of the same GPU and model
    busy_s: float = math.nan  # GPU seconds of a mean step, where a gauge tells that it idles

    @property
    def _known_error(self) -> float:
        """Another server of the same GPU and model is off by as much as a profile that is taken for this one's."""
        return max(self.known.error_ratio, SHIPPED_ERROR) if self.known is not None else math.inf

    def like(self, draw: int) -> StepProfile | None:
        """A draw of what is known of such machines, with the GPU's own time a step where this one's was seen."""
        if self.known is None:
            return None
        rng = random.Random(f"known {draw}")
        found = another(self.known, self._known_error, rng)
        floor = floor_of(self.busy_s * rng.uniform(*_GAUGE), self.samples, found)
        return msgspec.structs.replace(found, floor_s=floor) if math.isfinite(floor) else found

    def draws(self, count: int, seed: int) -> list[StepProfile]:
        """``count`` profiles that are as likely as this one."""
        if self.samples is None:
            return [another(self.profile, self.used.error_ratio, random.Random(f"{seed} {i}")) for i in range(count)]
        if self.known is None:
            return coefficient_draws(self.samples, self.profile, count, seed)
        drawn = coefficient_draws(self.samples, self.profile, max(count, FIT_DRAWS), seed)
        return narrowed(drawn, self.profile, self.known, self._known_error, count)


def machine_of(state: EngineState, since_s: float = 0.0) -> Machine:
    """The machine from ``since_s`` after the window's start on; of the whole window where that is too short for a fit.

    Raises TooLittleData where neither the window nor any profile says how long a step takes.
    """
    known = known_profile(state.configuration)
    try:
        fit = fit_window(state, known, since_s)
    except TooLittleData as error:
        if since_s > 0:
            return machine_of(state)
        if known is None:
            raise TooLittleData(
                f"what a change would do cannot be said: {error.message}, and no profile of such a machine is known",
                "Look at a busier or longer window, or fit a profile: whystall calibrate RECORDING.",
            ) from error
        return _shipped(known, state)
    if fit.profile.error_ratio > WORST_FIT and known is not None:
        return machine_of(state) if since_s > 0 else _shipped(known, state)
    text = _FITTED.format(error=fit.profile.error_ratio)
    if fit.known:
        text = _KNOWN_TOO.format(a=text, name=fit.known)
    used = ProfileUsed("window", "fitted", fit.profile.error_ratio, text)
    return Machine(fit.profile, used, fit.samples, known, busy_step_s(state, since_s))


def _shipped(known: StepProfile, state: EngineState) -> Machine:
    error = max(known.error_ratio, SHIPPED_ERROR)
    origin = "data sheet" if known.origin == "data sheet" else "shipped"
    graphs = 0 if state.configuration.enforce_eager else known.max_graph_tokens
    profile = msgspec.structs.replace(known, max_graph_tokens=graphs)
    text = _SHIPPED.format(name=known.name, error=error)
    used = ProfileUsed(known.name, origin, error, text)  # type: ignore[arg-type]
    return Machine(profile, used, None, known)


def known_profile(configuration: Configuration) -> StepProfile | None:
    """The profile of the same GPU and model that comes with the package, or is computed from data sheets."""
    gpu, models = _gpu(configuration), _models(configuration)
    ranks = configuration.tensor_parallel or 1
    alike = [
        profile
        for profile in map(load_profile, fitted_names() if gpu else ())
        if profile.gpu.lower() == gpu and profile.model.lower() in models and profile.tensor_parallel == ranks
    ]
    # What was measured with graphs has the same GPU floor and, beside it, what launching one by one takes.
    if found := next((p for p in alike if gpu == "cpu" or _eager(p) == bool(configuration.enforce_eager)), None):
        return found
    if found := next((p for p in alike if not _eager(p) and p.host_eager_s), None):
        return found
    tail = f"-tp{ranks}" if ranks > 1 else ""
    machine = next((m for model in models if (m := parse_name(f"{gpu}-{model}{tail}"))), None)
    return datasheet_profile(machine) if machine else None


def _eager(profile: StepProfile) -> bool:
    return profile.max_graph_tokens == 0


def _gpu(configuration: Configuration) -> str:
    if configuration.device == "cpu":
        return "cpu"
    name = configuration.gpu_name.lower().replace(" ", "-")
    found = [gpu for gpu in GPUS if gpu.split("-")[0] in re.split(r"[-_]", name) and _fits_size(gpu, name)]
    return found[0] if found else ""


def _fits_size(gpu: str, name: str) -> bool:
    size = re.search(r"(\d+)gb", gpu)
    return size is None or size[0] in name


def _models(configuration: Configuration) -> list[str]:
    """What the model may be called: by its own name, by the bytes of its weights (16 bits a parameter) where the log
    told, and by the size that its name says."""
    name = configuration.model.rstrip("/").rpartition("/")[2].lower()
    weights = (configuration.weights_bytes or 0.0) * (configuration.tensor_parallel or 1)
    near = [
        model.name
        for model in MODELS.values()
        if weights and not configuration.quantization and abs(math.log(weights / (2 * model.parameters))) < _SAME_SIZE
    ]
    return [name, *near, *re.findall(r"(?<![\d.])(\d{1,3}b)(?![a-z])", name)]
