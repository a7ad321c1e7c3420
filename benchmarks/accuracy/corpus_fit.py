"""The weights of the catalogue fitted to emulated incidents: ``corpus.py --fit``.

The likelihood is that of the sets of causes which are true, under the posterior that diagnoses use. The hand-set numbers
are the prior mean (L2), so a cause that is seldom seen stays as it was; a weight keeps its sign, which is the
mechanism's. Every epoch hides some families of evidence of every case at random beside the arms that lack a signal. Cases
of withheld causes are left out. The temperature is fitted on hardware that the weights never saw.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from corpus_cases import HELD_WORKLOAD, PROFILES, WITHHELD, WITHHELD_TABLE, drawn
from corpus_rows import completed
from corpus_run import true_causes
from corpus_score import answered, of_table, seen_of, singles

from whystall.causes.catalogue import catalogue
from whystall.causes.entry import CauseEntry
from whystall.causes.posterior import family, given, log_odds, said
from whystall.causes.weighing import standing
from whystall.causes.weights import PATH, Fitted, WeightsTable, table

Row = dict[str, Any]
SEED = 1011
# Of the way from the hand-set numbers to the fitted ones: at the full way recordings of real servers lose right answers,
# and at half of it some; at this one none does (answers.py): what the emulator teaches is not all true.
WAY = 0.35
SLOTS = 9  # causes of one case: the true ones, and those for which most speaks
EPOCHS, BATCH, RATE, PRIOR, HIDDEN = 240, 400, 0.03, 0.015, 0.15
STRANGE = 0.15  # cases whose true causes are taken away: then no set is true but the empty one
Floats = np.ndarray


class Parameters:
    """All numbers of the catalogue in one vector: each cause's bias, then its weights."""

    def __init__(self, entries: dict[str, CauseEntry], held_back: Sequence[str] = ()) -> None:
        self.names = [(c, "") for c in entries] + [(c, e) for c, entry in entries.items() for e in entry.weights]
        self.place = {name: i for i, name in enumerate(self.names)}
        self.hand = np.array([entries[c].weights[e] if e else entries[c].bias for c, e in self.names])
        families = sorted({family(e) for _, e in self.names if e})
        self.families = len(families)
        self.family = np.array([families.index(family(e)) if e else 0 for _, e in self.names])
        # A bias is the log odds before any evidence. The corpus draws all faults alike, which no data centre does.
        self.fixed = np.array([c in held_back or not e for c, e in self.names])

    def kept(self, values: Floats) -> Floats:
        """``values`` with every weight on its side of zero, and what is fixed as it was."""
        signed = np.where(self.hand > 0, np.maximum(values, 0.0), np.minimum(values, 0.0))
        return np.where(self.fixed, self.hand, signed)


class Samples(NamedTuple):
    """One row an arm of a case: ``index`` and ``strength`` [n, slot, weight], ``bias`` [n, slot] (-1: no cause),
    ``story`` and ``good`` [n, set]: what a set weighs before any evidence, and whether it is true. Sets are the empty
    one, the slots, then the pairs of slots."""

    index: Floats
    strength: Floats
    bias: Floats
    story: Floats
    good: Floats


def samples(rows: Sequence[Row], entries: dict[str, CauseEntry], at: Parameters) -> Samples:
    parts = [_sample(row, scene, entries, at) for row in rows for scene in _scenes(row)]
    return Samples(*(np.stack(columns) for columns in zip(*[p for p in parts if p is not None], strict=True)))


def _scenes(row: Row) -> list[Row]:
    """Of each arm the engine that hurts most."""
    found = []
    for scenes in row["arms"].values():
        proven = [s for s in scenes if not s["unproven"]]
        if proven:
            found.append(max(proven, key=lambda s: (s["hurts"], s["queue_s"])))
    return found


def _sample(row: Row, scene: Row, entries: dict[str, CauseEntry], at: Parameters) -> tuple[Floats, ...] | None:
    seen = seen_of(scene)
    held = list(standing(seen, entries))
    if not held:
        return None
    true: set[str] = set().union(*_true(row, entries))
    held = sorted(held, key=lambda c: (c not in true, -log_odds(entries[c], seen.evidence)))[:SLOTS]
    most = max(len(entry.weights) for entry in entries.values())
    index, strength = np.zeros((SLOTS, most), dtype=np.int64), np.zeros((SLOTS, most))
    bias = np.full(SLOTS, -1, dtype=np.int64)
    for slot, cause in enumerate(held):
        bias[slot] = at.place[cause, ""]
        for column, (name, weight) in enumerate(entries[cause].weights.items()):
            index[slot, column] = at.place[cause, name]
            strength[slot, column] = said(weight, scene["evidence"].get(name, 0.0))
    story, good = _sets(row, scene, held, entries)
    return index, strength, bias, story, good


def _true(row: Row, entries: dict[str, CauseEntry]) -> list[set[str]]:
    """What is true; of a fault that the catalogue has no file of, what is right to say."""
    faults = row["case"]["faults"]
    exact = true_causes(faults, row["facts"])
    return [e if f in entries else set(a) for f, e, a in zip(faults, exact, row["accepted"], strict=True)]


def _sets(row: Row, scene: Row, held: list[str], entries: dict[str, CauseEntry]) -> tuple[Floats, Floats]:
    wanted = [causes & set(held) for causes in _true(row, entries)]
    accepted = set().union(*wanted)
    each = [w for w in wanted if w] if len(wanted) > 1 else []
    story = [given(scene["kinds"], ())]
    good = [not accepted]
    for slot in range(SLOTS):
        there = slot < len(held)
        story.append(given(scene["kinds"], (entries[held[slot]],)) if there else -np.inf)
        good.append(there and held[slot] in accepted and len(each) < 2)
    for a in range(SLOTS):
        for b in range(a + 1, SLOTS):
            there = b < len(held)
            story.append(given(scene["kinds"], (entries[held[a]], entries[held[b]])) if there else -np.inf)
            pair = {held[a], held[b]} if there else set()
            good.append(there and pair <= accepted and all(pair & w for w in each))
    if not any(good):
        good[0] = True
    return np.array(story), np.array(good)


_A, _B = np.triu_indices(SLOTS, 1)


def loss(values: Floats, s: Samples, at: Parameters) -> tuple[float, Floats]:
    """Mean negative log probability of the true sets, and its gradient."""
    n = len(s.bias)
    pull = values[s.index] * s.strength
    cell = (np.arange(n)[:, None, None] * SLOTS + np.arange(SLOTS)[None, :, None]) * at.families + at.family[s.index]
    size = n * SLOTS * at.families
    up = np.sqrt(np.bincount(cell.ravel(), (np.maximum(pull, 0) ** 2).ravel(), size))
    down = np.sqrt(np.bincount(cell.ravel(), (np.minimum(pull, 0) ** 2).ravel(), size))
    rise = up.reshape(n, SLOTS, at.families)
    odds = np.where(s.bias >= 0, values[s.bias], 0.0) + rise.sum(2) - down.reshape(rise.shape).sum(2)
    either = _either(rise[:, _A], rise[:, _B])
    shared = (rise[:, _A] + rise[:, _B] - either).sum(2)
    pairs = odds[:, _A] + odds[:, _B] - shared
    weights = np.concatenate([np.zeros((n, 1)), odds, pairs], axis=1) + s.story
    true = np.where(s.good, weights, -np.inf)
    total, right = _log_sum(weights), _log_sum(true)
    move = np.exp(weights - total[:, None]) - np.exp(true - right[:, None])  # gradient of each set's log weight
    gradient = _gradient(values, s, at, move / n, rise, either, up, down, cell)
    return float((total - right).mean()), gradient


def _gradient(
    values: Floats,
    s: Samples,
    at: Parameters,
    move: Floats,
    rise: Floats,
    either: Floats,
    up: Floats,
    down: Floats,
    cell: Floats,
) -> Floats:
    single, pair = move[:, 1 : 1 + SLOTS], move[:, 1 + SLOTS :]
    whole = single.copy()
    by_rise = np.repeat(single[:, :, None], at.families, axis=2)
    for place in (_A, _B):
        for slot in range(SLOTS):
            mine = place == slot
            whole[:, slot] += pair[:, mine].sum(1)
            by_rise[:, slot] += (pair[:, mine, None] * np.exp(rise[:, slot][:, None] - either[:, mine])).sum(1)
    pull = values[s.index] * s.strength
    risen = by_rise.reshape(-1)[cell] * np.maximum(pull, 0) / np.maximum(up[cell], 1e-9)
    fallen = whole[:, :, None] * -np.minimum(pull, 0) / np.maximum(down[cell], 1e-9)
    by_weight = (risen + fallen) * s.strength
    found = np.bincount(s.index.ravel(), by_weight.ravel(), len(values))
    there = s.bias >= 0
    return found + np.bincount(s.bias[there], whole[there], len(values))


def _either(a: Floats, b: Floats) -> Floats:
    high = np.maximum(a, b)
    return high + np.log(np.exp(a - high) + np.exp(b - high) - np.exp(-high))


def _log_sum(x: Floats) -> Floats:
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


def fit(rows: Sequence[Row], entries: dict[str, CauseEntry], at: Parameters) -> Floats:
    """The numbers that make the true sets of ``rows`` most probable, held to the hand-set ones."""
    whole = samples(rows, entries, at)
    rng = np.random.default_rng(SEED)
    values, first, second = at.hand.copy(), np.zeros(len(at.hand)), np.zeros(len(at.hand))
    for epoch in range(1, EPOCHS + 1):
        chosen = rng.choice(len(whole.bias), min(BATCH, len(whole.bias)), replace=False)
        batch = _hidden(Samples(*(column[chosen] for column in whole)), at, rng)
        cost, slope = loss(values, batch, at)
        slope += PRIOR * (values - at.hand)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        step = RATE * min(1.0, 2 * (1 - epoch / (EPOCHS + 1)))
        values = values - step * (first / (1 - 0.9**epoch)) / (np.sqrt(second / (1 - 0.99**epoch)) + 1e-8)
        values = at.kept(values)
        if epoch % 100 == 0:
            print(f"epoch {epoch}: {cost:.3f} nats a case")
    return values


def _hidden(batch: Samples, at: Parameters, rng: np.random.Generator) -> Samples:
    """``batch`` with some families of each case not seen, as where a version or an exporter lacks them."""
    seen = rng.random((len(batch.bias), at.families)) >= HIDDEN
    shown = seen[np.arange(len(seen))[:, None, None], at.family[batch.index]]
    return _strange(batch._replace(strength=batch.strength * shown), rng)


def _strange(batch: Samples, rng: np.random.Generator) -> Samples:
    """``batch`` with some cases whose true causes the catalogue lacks: abstaining is learnt, too."""
    strange = rng.random(len(batch.bias)) < STRANGE
    true = batch.good[:, 1 : 1 + SLOTS] & strange[:, None]
    touched = np.concatenate([np.zeros((len(true), 1), bool), true, true[:, _A] | true[:, _B]], axis=1)
    gone = touched.any(axis=1)
    good = np.where(gone[:, None], np.arange(batch.good.shape[1]) == 0, batch.good)
    return batch._replace(story=np.where(touched, -np.inf, batch.story), good=good)


def fit_table(keep: Path, each: int, jobs: int) -> None:
    """Run what is missing, fit, and write the table of the package, and the one that never saw the withheld causes."""
    rows = completed(drawn(SEED, each, "fit"), keep / f"fit-{SEED}-{each}.jsonl", jobs)
    few = max(each // 4, 1)
    other = completed(drawn(SEED, few, "temperature"), keep / f"temperature-{SEED}-{few}.jsonl", jobs)
    write(fitted_table(rows, other, catalogue(), each), PATH)
    write(fitted_table(rows, other, catalogue(), each, WITHHELD), WITHHELD_TABLE)


def write(weights: WeightsTable, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    print(f"{path.name}: temperature {weights.temperature}, {weights.made['cases']} cases")


def fitted_table(
    rows: Sequence[Row],
    other: Sequence[Row],
    entries: dict[str, CauseEntry],
    each: int,
    held_back: Sequence[str] = (),
) -> WeightsTable:
    """The table from rows of the two splits; rows that were dropped, or that have a cause held back, are left out."""
    used = [r for r in rows if "arms" in r and not set(r["case"]["faults"]) & set(held_back)]
    rest = [r for r in other if "arms" in r and not set(r["case"]["faults"]) & set(held_back)]
    at = Parameters(entries, held_back)
    values = fit(used, entries, at)
    causes = {c: _of(c, entries[c], values, at) for c in sorted(entries) if c not in held_back}
    made: dict[str, Any] = {
        "command": f"benchmarks/accuracy/corpus.py --fit --each {each}",
        "commit": _commit(),
        "unix_time": int(time.time()),
        "seed": SEED,
        "cases": len(used),
        "profiles": list(PROFILES["fit"]),
        "temperature_profiles": list(PROFILES["temperature"]),
        "workload_left_out": HELD_WORKLOAD,
        "held_back": list(held_back),
    }
    plain = WeightsTable(version=table().version + 1, temperature=1.0, made=made, causes=causes)
    return msgspec.structs.replace(plain, temperature=temperature(rest, plain, entries))


def _of(cause: str, entry: CauseEntry, values: Floats, at: Parameters) -> Fitted:
    def moved(evidence: str, hand: float) -> tuple[float, float]:
        return hand, round(hand + WAY * (float(values[at.place[cause, evidence]]) - hand), 3)

    return Fitted(moved("", entry.bias), {e: moved(e, w) for e, w in sorted(entry.weights.items())})


def temperature(rows: Sequence[Row], weights: WeightsTable, entries: dict[str, CauseEntry]) -> float:
    """The one under which the probability of the first cause is most likely, over all arms of ``rows``; at most one.

    Emulated hardware that the fit never saw asks for about two; recordings of real servers would then go unanswered.
    """
    laid = of_table(weights)
    known = singles(rows, entries)

    def cost(t: float) -> float:
        answers = [answered(row, arm, laid._replace(temperature=t)) for row in known for arm in row["arms"]]
        pairs = [(min(max(a.sure, 0.005), 0.995), a.rank() == 1) for a in answers if a.ranked]
        return -float(np.mean([np.log(p if good else 1 - p) for p, good in pairs]))

    return float(min(np.round(np.arange(0.3, 1.01, 0.05), 2), key=cost))


def _commit() -> str:
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout.strip()
