"""The nouns of the laboratory: an experiment, what is expected of it and by whom, what was observed."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.emulator.server.deployment import Serving
from whystall.emulator.server.faults import Planned
from whystall.model.text import Text

Kind = Literal["rises", "falls", "stays", "above", "below"]
By = Literal["scheduler", "article"]


class Expectation(msgspec.Struct, frozen=True):
    """What one figure should do: a factor after against before (rises, falls, stays within), or a level (above, below).

    ``by``: the rules of a real scheduler, or an article whose claim is put to the test. ``why`` explains either.
    """

    figure: str
    kind: Kind
    level: float
    by: By
    why: Text

    def holds(self, before: float, after: float) -> bool:
        """Whether it was so. A figure that was not seen (NaN) holds nothing."""
        if self.kind == "above":
            return after > self.level
        if self.kind == "below":
            return after < self.level
        if self.kind == "stays":
            return abs(after - before) <= (self.level - 1) * max(abs(before), 1e-9)
        return after > self.level * before if self.kind == "rises" else after * self.level < before


class Experiment(msgspec.Struct, frozen=True):
    """A server, what is done to it at ``at_s`` seconds, and what is expected.

    ``cause``: the id that a right diagnosis names, "" where the server is healthy all the same.
    """

    id: str
    title: Text
    do: Text
    serving: Serving
    planned: tuple[Planned, ...]
    cause: str
    expectations: tuple[Expectation, ...] = ()
    at_s: float = 30.0
    seconds: float = 90.0


class Observation(msgspec.Struct, frozen=True):
    """One expectation and what was seen: the figure before and after, and whether it held."""

    expectation: Expectation
    before: float
    after: float
    holds: bool


class Outcome(msgspec.Struct, frozen=True):
    """An experiment that was run: its figures before and after, and each expectation against them."""

    experiment: Experiment
    before: dict[str, float]
    after: dict[str, float]
    observations: tuple[Observation, ...]
