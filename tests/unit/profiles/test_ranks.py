import lzma
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrome_trace import document, kernel, render, write
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.ranks import CollectiveRow, RankCollectives, RankComparison, compare_ranks, rank_collectives
from whystall.profiles.shares import communication


def ranks_of(*arrivals: list[int], wire: int = 10_000, clock: tuple[int, ...] = ()) -> RankComparison | None:
    """Ranks that arrive at the given times at collectives that end ``wire`` after the last arrival."""
    ends = [max(times) + wire for times in zip(*arrivals, strict=True)]
    files = []
    for rank, times in enumerate(arrivals):
        ahead = clock[rank] if clock else 0
        starts = [time + ahead for time in times]
        durations = [end - time for end, time in zip(ends, times, strict=True)]
        files.append(RankCollectives(f"r{rank}", rank, True, (CollectiveRow("/allreduce", starts, durations),)))
    return compare_ranks(files)


def test_the_straggler_has_the_least_collective_time() -> None:
    found = ranks_of([0, 100_000, 200_000], [90_000, 190_000, 290_000], [1000, 101_000, 201_000])
    assert found is not None
    assert found.straggler == 1
    assert (found.matched, found.wire_ns) == (3, 90_000)
    assert [row.skew_ns for row in found.ranks] == [270_000, 0, 267_000]
    assert [row.last for row in found.ranks] == [0, 3, 0]
    assert found.collective_ns == found.wire_ns + found.skew_ns


def test_balanced_ranks_have_no_straggler() -> None:
    found = ranks_of([0, 101_000], [1000, 100_000], wire=100_000)
    assert found is not None
    assert found.straggler is None


def test_clocks_that_differ_are_aligned_by_the_ends() -> None:
    arrivals = ([0, 100_000, 200_000], [90_000, 190_000, 290_000], [1000, 101_000, 201_000])
    apart, together = ranks_of(*arrivals, clock=(0, -5_000_000, 7_000_000)), ranks_of(*arrivals)
    assert apart is not None
    assert together is not None
    assert apart.clock == "ends"
    assert apart.straggler == together.straggler
    assert [row.late_ns for row in apart.ranks] == [row.late_ns for row in together.ranks]
    offsets = [row.clock_offset_ns for row in apart.ranks]
    assert (offsets[1] - offsets[0], offsets[2] - offsets[0]) == (-5_000_000, 7_000_000)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20), st.integers(0, 10**12)
)
def test_wire_and_skew_sum_to_the_whole(pairs, ahead) -> None:
    base = 1_790_857_026 * 10**9
    arrivals = [[base + 3_000_000 * n + pair[rank] for n, pair in enumerate(pairs)] for rank in (0, 1)]
    found = ranks_of(*arrivals, clock=(0, ahead))
    assert found is not None
    assert found.wire_ns + found.skew_ns == found.collective_ns
    assert found.wire_ns == 2 * 10_000 * len(pairs)


def test_ranks_without_anything_in_common() -> None:
    one = RankCollectives("a", 0, True, (CollectiveRow("/allreduce", [1], [1]),))
    other = RankCollectives("b", 1, True, (CollectiveRow("/allgather", [1], [1]),))
    assert compare_ranks([one, other]) is None
    assert compare_ranks([one]) is None


def test_missing_ranks_count_by_file() -> None:
    rows = (CollectiveRow("/x", [0, 10], [4, 4]),)
    shorter = (CollectiveRow("/x", [0], [4]),)
    found = compare_ranks([RankCollectives("a", None, False, rows), RankCollectives("b", None, False, shorter)])
    assert found is not None
    assert ([row.rank for row in found.ranks], found.matched, found.unmatched) == ([0, 1], 1, 1)


def test_collectives_are_keyed_by_group_and_kind(tmp_path: Path) -> None:
    told = {"Collective name": "allreduce", "Process Group Name": "tp", "dtype": "BFloat16"}
    events = [
        kernel("ncclDevKernel_AllReduce_Sum", 5, 1, **told),
        kernel("void multimem_all_reduce_kernel<int>(int)", 3, 1),
        kernel("ncclKernel_SendRecv_RING", 4, 1),
        kernel("nvjet", 1, 1),
    ]
    rows = rank_collectives(link(read_kineto(write(tmp_path, render(document(events)))))).rows
    assert {row.key for row in rows} == {"tp/allreduce", "/allreduce", "/sendrecv"}


@pytest.fixture(scope="module")
def dlrm(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dlrm")
    with lzma.open(shared / "traces/public/dlrm_8_ranks.tar.xz") as packed, tarfile.open(fileobj=packed) as files:
        files.extractall(folder, filter="data")
    return sorted(folder.glob("*.json"))


def test_eight_real_ranks(dlrm: list[Path]) -> None:
    found = compare_ranks([rank_collectives(link(read_kineto(path))) for path in dlrm])
    assert found is not None
    assert (found.straggler, found.matched, found.unmatched) == (7, 8, 0)
    assert found.ranks[7].collective_ns == min(row.collective_ns for row in found.ranks)
    assert found.ranks[7].last == 5


STRAGGLERS = {"healthy": None, "neighbour": 1, "single": None, "eager": 1}


@pytest.mark.parametrize("run", STRAGGLERS)
def test_two_real_gpus_at_tensor_parallel_2(data: Path, run: str) -> None:
    """``neighbour``: another program computed on the second GPU; ``eager``: the second rank's host is slower."""
    paths = sorted((data / "traces" / "tp2_h200" / run).glob("*.json.gz"))
    assert len(paths) == 2
    linked = [link(read_kineto(path)) for path in paths]
    found = compare_ranks([rank_collectives(one) for one in linked])
    assert found is not None
    assert found.straggler == STRAGGLERS[run]
    assert (found.unmatched, found.matched % 66) == (0, 0)  # 66 collectives a step
    assert found.wire_ns + found.skew_ns == found.collective_ns
    assert max(abs(row.clock_offset_ns) for row in found.ranks) < 1000
    for one in linked:
        comm = communication(one)
        assert comm is not None
        assert comm.exposed_ns == comm.union_ns  # one stream, nothing beside it


def test_the_waiting_beside_a_busy_neighbour(data: Path) -> None:
    paths = sorted((data / "traces" / "tp2_h200" / "neighbour").glob("*.json.gz"))
    linked = [link(read_kineto(path)) for path in paths]
    found = compare_ranks([rank_collectives(one) for one in linked])
    assert found is not None
    assert [round(row.skew_ns / 1e6, 1) for row in found.ranks] == [53.8, 0.7]
    assert [round(share.share, 3) for one in linked if (share := communication(one))] == [
        0.731,
        pytest.approx(0.117, abs=0.002),
    ]
