"""What a knob file holds: one flag of ``vllm serve``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from whystall.model.text import Text

from .setup import Setup
from .version import within

Group = Literal["scheduler", "kv", "compute", "parallel", "features", "observability", "removed"]
Kind = Literal["whole", "number", "switch", "choice", "text", "json"]
Quantity = Literal["ttft", "itl", "throughput", "kv", "cpu", "memory", "start"]
Direction = Literal["better", "worse", "either"]
Move = Literal["raise", "lower", "on", "off", "set"]

_NOTHING = Text("", "")
UNDO = Text(
    "Start again with the value that stood there before, or without the flag.",
    "用原来的值重新启动，或去掉该参数再启动。",
)


class Spelling(msgspec.Struct, frozen=True):
    """One way to write it, from the first sampled release that had it to the last; "" bounds nothing.

    ``off`` is the form that turns a switch off, "" where there is none.
    """

    flag: str
    since: str = ""
    until: str = ""
    off: str = ""


class Default(msgspec.Struct, frozen=True):
    """The value where nobody sets it. ``when`` says for which device; empty where it holds for all."""

    value: str
    when: Text = _NOTHING
    since: str = ""
    until: str = ""


class Choice(msgspec.Struct, frozen=True):
    """A value that may be chosen, and since which release it is known."""

    value: str
    since: str = ""
    until: str = ""


class Legal(msgspec.Struct, frozen=True):
    """What the parser takes: bounds of a number (both included unless open), or the choices."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    choices: tuple[Choice, ...] = ()

    def holds(self, value: float) -> bool:
        """Whether the bounds hold."""
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = self.high is None or value < self.high or (value == self.high and not self.high_open)
        return above and below


class Rule(msgspec.Struct, frozen=True):
    """A check that vLLM makes at its start. ``broken`` is None where what it compares is not known."""

    id: str
    says: Text
    broken: Callable[[Setup], bool | None]
    since: str = ""
    until: str = ""


class Treatment(msgspec.Struct, frozen=True):
    """A cause of the catalogue that this knob can treat, and which way it is turned for that."""

    cause: str
    move: Move


class Folk(msgspec.Struct, frozen=True):
    """A use that is often advised and wrong: for which causes' symptom, what is claimed, and why it does not help.

    Without ``causes`` it is told where the knob is explained, and not in a diagnosis.
    """

    causes: tuple[str, ...]
    claim: Text
    wrong: Text


class Knob(msgspec.Struct, frozen=True):
    """One flag. ``id`` is its name in the parser: without dashes, with underscores.

    ``up`` says what raising does (a switch: turning it on; a choice: what it decides), ``down`` the other way where that
    is not plain; ``raising`` gives the direction for each quantity that moves (kv: "better" is more blocks).
    ``needs`` are its start-up rules. Nothing of ``treats`` is there for a flag that is gone.
    """

    id: str
    group: Group
    kind: Kind
    what: Text
    up: Text
    spellings: tuple[Spelling, ...]
    defaults: tuple[Default, ...] = ()
    legal: Legal = Legal()
    needs: tuple[Rule, ...] = ()
    down: Text = _NOTHING
    raising: dict[Quantity, Direction] = {}
    treats: tuple[Treatment, ...] = ()
    folk: tuple[Folk, ...] = ()
    restart: bool = True
    undo: Text = UNDO

    def default(self, version: tuple[int, ...]) -> str | None:
        """The default that holds on every device; None where it depends on one, or is not known for the version."""
        fitting = [d for d in self.defaults if within(version, d.since, d.until)]
        return fitting[0].value if len(fitting) == 1 and not fitting[0].when.en else None

    def flags(self) -> tuple[str, ...]:
        """Every spelling that it has or had, off forms included."""
        return tuple(flag for one in self.spellings for flag in (one.flag, one.off) if flag)
