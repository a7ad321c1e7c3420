# ruff: noqa: E501 - the tool's lines are as long as they are
from pathlib import Path

import pytest

from whystall.errors import NotATrace
from whystall.profiles.ncu import parse_ncu_csv, read_ncu_csv
from whystall.profiles.recognise import recognise

LONG = """==PROF== Connected to process 17
==PROF== Profiling "nvjet_tst" - 0: 0%....100% - 9 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","17","python","127.0.0.1","nvjet_tst","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","85.50","","",""
"0","17","python","127.0.0.1","nvjet_tst","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Memory Throughput","%","40.10","","",""
"0","17","python","127.0.0.1","nvjet_tst","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Duration","usecond","1,234.50","","",""
"0","17","python","127.0.0.1","nvjet_tst","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","GPU Speed Of Light Throughput","","","","SOLBottleneck","OPT","Compute is more heavily utilized than memory"
"1","17","python","127.0.0.1","flash_fwd_kernel","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","12.0","","",""
"1","17","python","127.0.0.1","flash_fwd_kernel","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Memory Throughput","%","20","","",""
"1","17","python","127.0.0.1","flash_fwd_kernel","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Duration","nsecond","5000","","",""
"1","17","python","127.0.0.1","flash_fwd_kernel","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","Occupancy","Achieved Occupancy","%","n/a","","",""
"""

_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
WIDE = "\n".join(
    [
        '"ID","Kernel Name","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed",'
        '"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","lts__t_sector_hit_rate.pct",'
        '"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",'
        '"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",'
        f'"{_STALL.format("long_scoreboard")}","{_STALL.format("barrier")}"',
        '"","","us","%","%","%","%","%","inst","inst"',
        '"0","ampere_sgemm","10","30","90","55","1","25","6","2"',
        '"1","ampere_sgemm","30","30","90","75","1","25","6","2"',
    ]
)


def put(folder: Path, text: str) -> Path:
    path = folder / "ncu.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_long_form(tmp_path: Path) -> None:
    path = put(tmp_path, LONG)
    assert recognise(path) == "ncu"
    gemm, attention = read_ncu_csv(path).kernels
    assert (gemm.name, gemm.class_id, gemm.duration_ns, gemm.bound) == ("nvjet_tst", "gemm", 1_234_500, "compute")
    assert (gemm.sm_ratio, gemm.memory_ratio) == (pytest.approx(0.855), pytest.approx(0.401))
    assert gemm.rules == ("SOLBottleneck: Compute is more heavily utilized than memory",)
    assert (attention.bound, attention.duration_ns, attention.occupancy_ratio) == ("latency", 5000, None)


def test_the_wide_form_is_weighted_by_time(tmp_path: Path) -> None:
    found = read_ncu_csv(put(tmp_path, WIDE))
    (kernel,) = found.kernels
    assert (kernel.launches, kernel.bound, kernel.duration_ns) == (2, "memory", 20_000)
    assert kernel.l2_hit_ratio == pytest.approx(0.7)
    assert kernel.stalls == (("long_scoreboard", 0.75), ("barrier", 0.25))
    assert {"replayed", "uncoalesced", "no_tensor_cores"} == {note.id for note in found.notes}


@pytest.mark.parametrize(
    ("text", "value"), [("1,234.5", 1234.5), ("1.234,5", 1234.5), ("12,5", 12.5), ("1,234", 1234), ("7", 7)]
)
def test_numbers_of_either_locale(text: str, value: float) -> None:
    body = f'"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","{text}"'
    assert parse_ncu_csv(body)[0].duration_ns == value


def test_what_was_not_collected_is_said(tmp_path: Path) -> None:
    found = read_ncu_csv(put(tmp_path, '"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","n/a"\n'))
    assert "no_throughput" in {note.id for note in found.notes}
    assert found.kernels[0].bound is None


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(NotATrace):
        read_ncu_csv(put(tmp_path, "==PROF== nothing\n"))


@pytest.mark.parametrize("page", ["raw.csv", "details.csv"])
def test_a_real_report_of_either_page(data: Path, page: str) -> None:
    """Eight kernels on an H200: prefill GEMM, transposed copy, attention, and so on."""
    found = read_ncu_csv(data / "traces" / "ncu_h200" / page)
    assert [row.launches for row in found.kernels] == [1] * 8
    prefill, transposed = found.kernels[:2]
    assert (prefill.class_id, prefill.bound, transposed.bound) == ("gemm", "both", "memory")
    assert prefill.duration_ns == pytest.approx(613_380, rel=1e-4)
    assert (prefill.sm_ratio, prefill.dram_ratio) == (pytest.approx(0.93, abs=0.005), pytest.approx(0.231, abs=0.002))
    assert (prefill.occupancy_ratio, prefill.l2_hit_ratio) == (
        pytest.approx(0.148, abs=0.002),
        pytest.approx(0.705, abs=0.002),
    )


def test_what_only_the_raw_page_has(data: Path) -> None:
    found = read_ncu_csv(data / "traces" / "ncu_h200" / "raw.csv")
    prefill, transposed = found.kernels[:2]
    assert prefill.tensor_ratio == pytest.approx(0.949, abs=0.001)
    assert prefill.coalescing_ratio is None  # it loads by TMA
    assert transposed.coalescing_ratio == 2 / 32
    assert transposed.stalls[0][0] == "long_scoreboard"
    assert "uncoalesced" in {note.id for note in found.notes}


def test_rules_of_the_details_page(data: Path) -> None:
    found = read_ncu_csv(data / "traces" / "ncu_h200" / "add_strided_details.csv")
    strided, adding = found.kernels
    assert strided.name.startswith("strided")
    assert strided.l2_hit_ratio is not None
    assert adding.l2_hit_ratio is not None
    assert strided.l2_hit_ratio < adding.l2_hit_ratio
    assert strided.rules
