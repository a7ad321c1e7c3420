"""Machines alike: how far the coefficients of one are from a known profile of its kind, together and each by itself.

A fit to a window tells the coefficients that its steps show, and of the others as good as nothing; that the machine is of
a known kind bounds those, too. Both count: the fit's own uncertainty, as its draws have it, times what is known of the
kind (two normal distributions of logarithms, Bayes' rule).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.profile import StepProfile

Floats = NDArray[np.float64]
# What differs from one machine of a kind to the next.
SPARE = (
    "floor_s",
    "token_s",
    "decode_request_s",
    "decode_context_s",
    "mixed_context_s",
    "pair_s",
    "host_mixed_s",
    "host_eager_s",
)
FIT_DRAWS = 200  # enough to tell how the fit's coefficients go together
_LAUNCHED = ("floor_s", "host_mixed_s", "host_eager_s")  # where there are no graphs, launches are in these or nowhere
_TOGETHER = 0.5  # of the variance is common to all parts (another clock), the rest is each one's own
_SURE = 1e-6  # variance of what the fit tells for sure


def another(profile: StepProfile, error: float, rng: random.Random) -> StepProfile:
    """A machine of the kind of ``profile``: each of its coefficients is off by about ``error``."""
    common = rng.gauss(0, error * math.sqrt(_TOGETHER))
    own = error * math.sqrt(1 - _TOGETHER)
    return profile.scaled(**{name: math.exp(common + rng.gauss(0, own)) for name in SPARE})


def narrowed(
    drawn: Sequence[StepProfile], fitted: StepProfile, known: StepProfile, error: float, count: int
) -> list[StepProfile]:
    """``count`` of the fit's own draws, moved and drawn together to what is likely of a machine of ``known``'s kind."""
    names = [name for name in SPARE if _comparable(name, fitted, known) and _varies(name, drawn)]
    if not names or len(drawn) <= len(names):
        return list(drawn[:count])
    logs = np.log([[getattr(draw, name) / getattr(fitted, name) for name in names] for draw in drawn])
    apart = np.log([getattr(known, name) / getattr(fitted, name) for name in names])
    middle, root = _product(np.cov(logs, rowvar=False).reshape(len(names), -1), apart, _of_kind(len(names), error))
    moved = middle + (logs - logs.mean(axis=0)) @ root.T
    return [_at(draw, fitted, names, row) for draw, row in zip(drawn[:count], moved, strict=False)]


def _comparable(name: str, fitted: StepProfile, known: StepProfile) -> bool:
    """Whether both have such a part, and mean the same by it."""
    alike = bool(fitted.max_graph_tokens) == bool(known.max_graph_tokens) or name not in _LAUNCHED
    return alike and min(getattr(fitted, name), getattr(known, name)) > 0.0


def _varies(name: str, drawn: Sequence[StepProfile]) -> bool:
    values: list[float] = [getattr(draw, name) for draw in drawn]
    return min(values) > 0 and max(values) > min(values)


def _of_kind(count: int, error: float) -> Floats:
    return error**2 * (_TOGETHER * np.ones((count, count)) + (1 - _TOGETHER) * np.eye(count))


def _product(fit: Floats, apart: Floats, kind: Floats) -> tuple[Floats, Floats]:
    """The mean of the product of N(0, ``fit``) and N(``apart``, ``kind``), and the map from deviations of the first to
    deviations of the product."""
    fit = fit + _SURE * np.eye(len(apart))
    of_fit, of_kind = np.linalg.inv(fit), np.linalg.inv(kind)
    both = np.linalg.inv(of_fit + of_kind)
    both = (both + both.T) / 2
    root = np.linalg.cholesky(both) @ np.linalg.inv(np.linalg.cholesky(fit))
    return both @ of_kind @ apart, np.asarray(root)


def _at(draw: StepProfile, fitted: StepProfile, names: Sequence[str], logs: Floats) -> StepProfile:
    values = {name: getattr(fitted, name) * math.exp(log) for name, log in zip(names, logs, strict=True)}
    if "decode_request_s" in values:  # a fit does not tell the two apart
        values["mixed_request_s"] = values["decode_request_s"]
    return msgspec.structs.replace(draw, **values)
