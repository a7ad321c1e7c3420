"""The answer: what binds, since when, why, what it is not, what to do.

Field names are the published JSON contract.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .load import Cohort, Lagged, Who
from .prediction import Prediction, Range
from .text import Text
from .wording import Wording

SCHEMA: Literal["whystall.diagnosis/1"] = "whystall.diagnosis/1"
Verdict = Literal["healthy", "bottleneck", "unknown"]
Signal = Literal["metrics", "gpu", "host", "log", "config", "client", "spans", "trace"]
Known = Literal["reported", "default", "inferred"]
Role = Literal["trigger", "limit"]
RemedyKind = Literal["knob", "capacity", "client", "host", "gateway", "version", "operation"]
Aim = Literal["stop_bleeding", "fix"]


def _no_text() -> Text:
    return Text("")


class Engine(msgspec.Struct, frozen=True):
    """Which engine: the program, its version ("" when not known), the ``engine`` label and the served model."""

    name: str = "vllm"
    version: str = ""
    id: str = ""
    model: str = ""


class Window(msgspec.Struct, frozen=True):
    """The time looked at, unix seconds; ``seconds`` is the time covered by scrapes."""

    start: float
    end: float
    seconds: float
    scrapes: int = 0
    interval_s: float | None = None


class Limit(msgspec.Struct, frozen=True):
    """A limit of the server and how it is known.

    ``source`` says where from: log, server_info, metrics, argv, default, plateau.
    """

    name: str
    value: float
    known: Known
    source: str = ""


class Onset(msgspec.Struct, frozen=True):
    """When something began: seconds after the window's start, with a 90% interval."""

    seconds: float
    low: float
    high: float


class Evidence(msgspec.Struct, frozen=True):
    """One measured statement. ``strength`` runs from -1.5 (speaks against) to 1.5 (speaks for what the id names)."""

    id: str
    value: float | None
    unit: str
    strength: float
    text: Text
    source: Signal = msgspec.field(name="from")
    onset: Onset | None = None
    window_s: float | None = None
    anomaly: bool = False  # departs from this server's own baseline


class Why(msgspec.Struct, frozen=True):
    """One link of the chain from symptom to root: the claim, the evidence checked, and whether the check held."""

    claim: Text
    evidence: tuple[str, ...]
    holds: bool
    rejects: Text | None = None  # the alternative that this number rules out


class Reproduced(msgspec.Struct, frozen=True):
    """What the emulator says of a cause: put into the healthy load, and taken out of the reproduced incident.

    ``sufficiency``: the share of the observed loss that the cause alone makes, ``necessity``: the share of the reproduced
    loss that goes without it; None where there was nothing to put it into or take it out of. ``holds``: both are at
    least 0.8. ``figure``: the loss that was compared, by its name under ``impact``. ``emulated``: the share of the observed
    loss that the incident as a whole makes there; far from 1 it is the emulator that falls short.
    """

    sufficiency: float | None
    necessity: float | None
    holds: bool
    figure: str = ""
    emulated: float | None = None


class Cause(msgspec.Struct, frozen=True):
    """A cause found. ``probability`` is its marginal over sets of at most three causes.

    ``reproduced`` is None where it was not asked for, or the emulator cannot express the cause.
    """

    id: str
    probability: float
    role: Role
    summary: Text
    onset: Onset | None = None
    whys: tuple[Why, ...] = ()
    evidence_for: tuple[str, ...] = ()
    evidence_against: tuple[str, ...] = ()
    limit: Limit | None = None
    reproduced: Reproduced | None = None


class RuledOut(msgspec.Struct, frozen=True):
    """A cause that the numbers speak against, and the number that does."""

    id: str
    because: Text


class NotOffered(msgspec.Struct, frozen=True):
    """What is often advised for the same symptom, and why it is not offered."""

    claim: Text
    because: Text


class Tried(msgspec.Struct, frozen=True):
    """How a remedy fared in the cases kept here: it helped ``helped`` of ``of`` times, in the cases of these ids."""

    helped: int
    of: int
    cases: tuple[int, ...] = ()


class Remedy(msgspec.Struct, frozen=True):
    """What to change. ``text`` says it in words, ``change`` holds the flags of a knob.

    ``change`` maps a flag, as this server's version writes it, to its value: ``"true"`` sets a switch, which is written
    without a value, ``""`` takes the flag away. It is empty where the remedy is no flag; ``assume`` then says what else
    changes, as a prediction takes it (``replicas``). ``buys`` and ``risk`` say what is won and what it costs;
    ``prediction`` and its relative changes ``effect`` are there where somebody computed them, ``not_predicted`` why they
    are not where somebody wanted them; ``tried`` where a kept case used it.
    """

    id: str
    text: Text
    change: dict[str, str] = {}
    effect: dict[str, Range] = {}
    risk: Text = msgspec.field(default_factory=_no_text)
    restart: bool = True
    undo: Text = msgspec.field(default_factory=_no_text)
    cause: str = ""
    kind: RemedyKind = "knob"
    aim: Aim = "fix"
    buys: Text = msgspec.field(default_factory=_no_text)
    not_offered: tuple[NotOffered, ...] = ()
    assume: dict[str, str] = {}
    prediction: Prediction | None = None
    tried: Tried | None = None
    not_predicted: Text | None = None


class Impact(msgspec.Struct, frozen=True):
    """What it costs, over the incident (from its onset, else the whole window). None where it was not seen.

    ``lost_s``: for how much of the time somebody surely lost something since the incident began, and before it by what no
    load makes by itself; ``lost_until_s``: the end of the last loss of the window, seconds after the window's start, None
    where nothing was lost.
    """

    ttft_p95_s: float | None = None
    itl_p95_s: float | None = None
    queue_s: float | None = None
    tokens_per_s: float | None = None
    errors_per_s: float | None = None
    rejected_per_s: float | None = None
    requests_affected_ratio: float | None = None
    ttft_mean_s: float | None = None
    itl_mean_s: float | None = None
    e2e_p95_s: float | None = None
    window_s: float | None = None
    lost_s: float | None = None
    lost_until_s: float | None = None


class Identity(msgspec.Struct, frozen=True):
    """A law that must hold between the signals: its value, and whether it holds (None: not testable)."""

    id: str
    value: float | None
    holds: bool | None
    text: Text = msgspec.field(default_factory=_no_text)


class Missing(msgspec.Struct, frozen=True):
    """A signal that was not there: which causes it would settle, and how to get it."""

    signal: str
    would_settle: tuple[str, ...]
    how: Text


class Coverage(msgspec.Struct, frozen=True):
    """Which signals were there, and which were not."""

    signals: tuple[Signal, ...] = ()
    missing: tuple[Missing, ...] = ()
    unknown_names: tuple[str, ...] = ()  # metrics of a newer version than our tables


class Notice(msgspec.Struct, frozen=True):
    """A warning about the input that was handled, as it is shown."""

    id: str
    text: Text


class MemoryPart(msgspec.Struct, frozen=True):
    """A part of GPU memory: ``weights kv graphs other free``."""

    id: str
    bytes: float
    known: Known
    text: Text = msgspec.field(default_factory=_no_text)


class GpuMemory(msgspec.Struct, frozen=True):
    """Where one GPU's memory went, from the log and NVML. Parts sum to ``total_bytes`` where that is known."""

    total_bytes: float | None
    parts: tuple[MemoryPart, ...]


class SimilarCase(msgspec.Struct, frozen=True):
    """A kept case that looks like this one: how much (0 to 1) and why, what was done then and what came of it.

    ``example`` marks a case that ships with whystall.
    """

    id: int
    score: float
    because: Text
    opened: float
    headline: Text
    outcome: str
    remedy: str = ""
    remedy_text: Text = msgspec.field(default_factory=_no_text)
    example: bool = False


class Diagnosis(msgspec.Struct, frozen=True):
    """One engine's answer; with several engines on a page the outer one is the worst and ``engines`` holds all."""

    target: str
    engine: Engine
    window: Window
    verdict: Verdict
    headline: Text
    causes: tuple[Cause, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    anomalies: tuple[str, ...] = ()
    impact: Impact = Impact()
    identities: tuple[Identity, ...] = ()
    coverage: Coverage = Coverage()
    limits: tuple[Limit, ...] = ()
    memory: GpuMemory | None = None
    warnings: tuple[Notice, ...] = ()
    similar: tuple[SimilarCase, ...] = ()
    wording: Wording | None = None
    who: Who | None = None
    cohorts: tuple[Cohort, ...] = ()
    lags: tuple[Lagged, ...] = ()
    engines: tuple[Diagnosis, ...] = ()
    schema: Literal["whystall.diagnosis/1"] = SCHEMA
