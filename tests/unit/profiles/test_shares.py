from pathlib import Path

import pytest

from chrome_trace import document, kernel, memcpy, render, write
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import LinkedTrace, link
from whystall.profiles.shares import class_times, communication, copy_times, family_times, kernel_times


def linked(tmp_path: Path, *events) -> LinkedTrace:
    return link(read_kineto(write(tmp_path, render(document(list(events))))))


def test_communication_is_exposed_where_nothing_else_runs(tmp_path: Path) -> None:
    found = communication(
        linked(tmp_path, kernel("nccl", 0, 10, stream=9), kernel("nvjet", 4, 4), kernel("nvjet", 20, 6))
    )
    assert found is not None
    assert (found.ns, found.union_ns, found.exposed_ns) == (10_000, 10_000, 6_000)
    assert (found.share, found.exposed_ratio) == (0.5, 0.6)
    assert found.bus_bytes_per_s is None


def test_bus_bandwidth_as_nccls_tests_define_it(tmp_path: Path) -> None:
    args = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "BFloat16"}
    found = communication(linked(tmp_path, kernel("nccl", 0, 2, **args, **{"Group size": 4})))
    assert found is not None
    assert found.bus_bytes_per_s == pytest.approx(2000 * 2 * 3 / 4 / 2e-6)


def test_no_collectives(tmp_path: Path) -> None:
    assert communication(linked(tmp_path, kernel("nvjet", 0, 1))) is None


def test_copies_by_direction_and_memory(tmp_path: Path) -> None:
    pinned = memcpy("HtoD (Pinned -> Device)", 0, 2, 100_000)
    pageable = memcpy("DtoH (Device -> Pageable)", 10, 1, 10)
    rows = {(row.kind, row.memory): row for row in copy_times(linked(tmp_path, pinned, pageable, kernel("a", 1, 4)))}
    assert rows["HtoD", "Pinned"].bytes_per_s == pytest.approx(100_000 / 2e-6)
    assert (rows["HtoD", "Pinned"].small, rows["DtoH", "Pageable"].small) == (0, 1)
    assert (rows["HtoD", "Pinned"].exposed_ns, rows["DtoH", "Pageable"].exposed_ns) == (1000, 1000)


def test_tables_are_sorted_and_sum_up(tmp_path: Path) -> None:
    trace = linked(
        tmp_path, kernel("nvjet", 0, 5), kernel("nvjet", 3, 5), kernel("flash_fwd", 0, 30), kernel("x", 9, 1)
    )
    kernels = kernel_times(trace)
    assert [(row.name, row.count, row.ns, row.max_ns) for row in kernels] == [
        ("flash_fwd", 1, 30_000, 30_000),
        ("nvjet", 2, 10_000, 5_000),
        ("x", 1, 1_000, 1_000),
    ]
    assert sum(row.share for row in family_times(trace)) == pytest.approx(1)
    gemm = next(row for row in class_times(trace) if row.id == "gemm")
    assert (gemm.ns, gemm.union_ns) == (10_000, 8_000)
    assert len(kernel_times(trace, top=1)) == 1
