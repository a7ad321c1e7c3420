"""Answers' lengths by when they began: grown ones, unfinished ones, and those of which the mean says it all."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean

import numpy as np
import pytest

from whystall.state.outputs import Seen, lengths_ended, outputs_by_birth

GAP_S, PER_S, SECONDS = 0.02, 4, 60
Length = Callable[[int, random.Random], float]


def window(length: Length) -> tuple[Seen, list[list[float]]]:
    """A minute in which four requests a second begin at 50 tokens a second each, and what ended in it."""
    rng = random.Random(3)
    truth = [[length(second, rng) for _ in range(PER_S)] for second in range(SECONDS)]
    ended: list[list[float]] = [[] for _ in range(SECONDS)]
    running = 0
    for second, lengths in enumerate(truth):
        for tokens in lengths:
            end = int(second + 0.5 + tokens * GAP_S)
            if end < SECONDS:
                ended[end].append(tokens)
            else:
                running += 1
    first = np.full(SECONDS, PER_S)
    return Seen(first, np.full(SECONDS, GAP_S), np.ones(SECONDS), ended, running), truth


def mean(rows: list[list[float]]) -> float:
    return fmean([length for row in rows for length in row])


def test_answers_that_have_grown_are_short_before_and_long_after_though_few_of_them_have_ended() -> None:
    seen, truth = window(lambda second, rng: rng.uniform(100, 300) if second < 20 else rng.uniform(400, 2000))
    usual = mean(seen.ended)
    found = outputs_by_birth(seen, usual, random.Random(1))
    assert found is not None
    assert [len(row) for row in found] == [PER_S] * SECONDS
    assert usual < 0.75 * mean(truth)  # what ended says too little
    assert mean(found[:18]) == pytest.approx(mean(truth[:18]), rel=0.15)
    assert mean(found[25:]) == pytest.approx(mean(truth[25:]), rel=0.25)


def test_where_the_mean_says_it_all_nothing_else_is_said() -> None:
    seen, _ = window(lambda _second, rng: rng.uniform(100, 300))
    assert outputs_by_birth(seen, mean(seen.ended), random.Random(1)) is None


def test_who_goes_on_is_at_least_as_long_as_by_now() -> None:
    seen, _ = window(lambda second, _rng: 100.0 if second < 30 else 5000.0)
    found = outputs_by_birth(seen, mean(seen.ended), random.Random(1))
    assert found is not None
    for second in range(31, SECONDS):
        assert min(found[second]) >= (SECONDS - second - 1) / GAP_S - 1


def test_a_window_in_which_nothing_ends_or_no_gap_was_seen_holds() -> None:
    nothing = Seen(np.array([3, 0]), np.array([np.nan, np.nan]), np.ones(2), [[], []], 3)
    found = outputs_by_birth(nothing, 100.0, random.Random(1))
    assert found is not None
    assert [len(row) for row in found] == [3, 0]
    empty = Seen(np.zeros(2, dtype=int), np.full(2, GAP_S), np.ones(2), [[5.0], []], 0)
    assert outputs_by_birth(empty, 100.0, random.Random(1)) is None


def test_lengths_add_up_to_the_sums_of_their_intervals() -> None:
    bounds = np.array([10.0, 100.0, 1000.0])
    counts = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    sums = np.array([120.0, 4000.0, 0.0])
    found = lengths_ended(counts, sums, bounds, random.Random(1))
    assert [len(row) for row in found] == [3, 4, 0]
    assert [sum(row) for row in found] == pytest.approx([120.0, 4000.0, 0.0], rel=1e-2)


def test_one_end_that_was_found_at_a_neighbour_is_no_answer_without_end() -> None:
    """As a page shows it: 64 tokens each, of which one end is counted with the next births, so that an old one is left."""
    seen, _ = window(lambda _second, _rng: 64.0)
    seen.first[5] += 1
    seen.ended[-1].append(64.0)
    assert outputs_by_birth(seen, mean(seen.ended), random.Random(1)) is None
