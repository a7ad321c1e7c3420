"""Two ranks of a real vLLM at tensor-parallel 2: all-reduce share, exposed share and skew, against the slow reference."""

from __future__ import annotations

import functools
import gzip
from pathlib import Path

import pytest

from exact_trace import Exact, load
from whystall.profiles.analysis import summarise_linked
from whystall.profiles.kernels import Classifier
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.ncu import read_ncu_csv
from whystall.profiles.ranks import compare_ranks, rank_collectives

CLASSIFIER = Classifier()
# Collectives (32 layers, two all-reduces each, one for the embedding and a gather of the logits, a step) and their
# share of rank 0's GPU time.
RUNS = {"healthy": (528, 0.160), "neighbour": (396, 0.731), "single": (264, 0.470), "eager": (198, 0.812)}


def classify(name: str) -> tuple[str, str]:
    found = CLASSIFIER.classify(name)
    return found, CLASSIFIER.family(found)


def ranks(data: Path, run: str) -> list[Path]:
    return [data / "traces" / "tp2_h200" / run / f"rank{rank}.pt.trace.json.gz" for rank in (0, 1)]


@functools.cache
def exact(path: Path) -> Exact:
    return Exact(load(gzip.decompress(path.read_bytes()).decode()), classify)


def collectives(figures: Exact) -> list[tuple[str, int, int]]:
    """Name, start and duration, in the order of their start."""
    rows = sorted(figures.rows, key=lambda row: row.start)
    return [(row.name, row.start, row.duration) for row in rows if row.name.startswith("nccl")]


@pytest.mark.parametrize("run", RUNS)
def test_each_rank_is_exact(data: Path, run: str) -> None:
    count, share = RUNS[run]
    for rank, path in enumerate(ranks(data, run)):
        figures, summary = exact(path), summarise_linked(link(read_kineto(path)))
        total = sum(row.duration for row in figures.rows)
        found = collectives(figures)
        assert len(found) == count
        assert summary.communication is not None
        assert summary.communication.exposed_ns == figures.exposed()
        # One stream does all the work of a rank here: what communicates hides nothing and nothing hides it.
        assert figures.exposed() == sum(duration for *_, duration in found)
        assert summary.communication.share == pytest.approx(sum(row[2] for row in found) / total)
        assert summary.communication.share == pytest.approx(share, abs=5e-4) or rank == 1


@pytest.mark.parametrize("run", RUNS)
def test_wire_and_skew_of_two_ranks(data: Path, run: str) -> None:
    paths = ranks(data, run)
    pairs = list(zip(*(collectives(exact(path)) for path in paths), strict=True))
    assert all(one[0] == other[0] for one, other in pairs)
    wire = sum(min(one[2], other[2]) for one, other in pairs)
    found = compare_ranks([rank_collectives(link(read_kineto(path))) for path in paths])
    assert found is not None
    assert (found.matched, found.unmatched) == (len(pairs), 0)
    assert found.wire_ns == 2 * wire
    assert [row.skew_ns for row in found.ranks] == [sum(pair[rank][2] for pair in pairs) - wire for rank in (0, 1)]
    assert max(abs(row.clock_offset_ns) for row in found.ranks) < 1000  # one host, one clock


def test_the_rank_with_a_neighbour_on_its_gpu_is_awaited(data: Path) -> None:
    found = compare_ranks([rank_collectives(link(read_kineto(path))) for path in ranks(data, "neighbour")])
    assert found is not None
    assert found.ranks[0].skew_ns > 50 * found.ranks[1].skew_ns
    assert found.ranks[1].late_ns > 50 * found.ranks[0].late_ns


def test_real_counters(data: Path) -> None:
    """The raw page of Nsight Compute 2025.3 on an H200: a big matrix product fills the tensor cores, a small one cannot."""
    kernels = {row.class_id: row for row in read_ncu_csv(data / "traces" / "ncu_h200" / "raw.csv").kernels[::-1]}
    assert {"gemm", "attention", "elementwise", "softmax"} <= kernels.keys()
    assert kernels["gemm"].tensor_ratio == pytest.approx(0.949, abs=0.001)
