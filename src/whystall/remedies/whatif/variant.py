"""The changed server as the emulator sees it: other options, another step, another load."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.model.text import Text

from .load import LoadDraw


class Draw(msgspec.Struct, frozen=True):
    """One of the twenty: a profile, a load, and the cause that is taken to hold ("" none that changes a step)."""

    number: int
    profile: StepProfile
    load: LoadDraw
    cause: str = ""

    def uniform(self, name: str, low: float, high: float) -> float:
        """A number that is the same for all who ask for ``name`` in this draw."""
        return random.Random(f"{self.number} {name}").uniform(low, high)


def same_profile(profile: StepProfile, _draw: Draw) -> StepProfile:
    return profile


def same_load(load: LoadDraw) -> LoadDraw:
    return load


class Variant(msgspec.Struct, frozen=True):
    """``replicas``: how many such servers share the load. ``spread``: error (log) that comes on top of the model's."""

    options: EngineOptions
    profile: Callable[[StepProfile, Draw], StepProfile] = same_profile
    load: Callable[[LoadDraw], LoadDraw] = same_load
    replicas: int = 1
    spread: float = 0.0
    warnings: tuple[Text, ...] = ()

    def with_options(self, **values: object) -> Variant:
        return msgspec.structs.replace(self, options=msgspec.structs.replace(self.options, **values))

    def then(self, profile: Callable[[StepProfile, Draw], StepProfile]) -> Variant:
        """With one more thing done to the profile."""
        before = self.profile
        return msgspec.structs.replace(self, profile=lambda p, d: profile(before(p, d), d))

    def under(self, load: Callable[[LoadDraw], LoadDraw]) -> Variant:
        """With one more thing done to the load."""
        before = self.load
        return msgspec.structs.replace(self, load=lambda given: load(before(given)))

    def warned(self, text: Text) -> Variant:
        return msgspec.structs.replace(self, warnings=(*self.warnings, text))
