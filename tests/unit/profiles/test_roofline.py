from pathlib import Path

import pytest

from chrome_trace import document, kernel, render, write
from whystall.profiles.roofline import Product, peak_of, product, read_roofline
from whystall.profiles.trace import Device

BF16 = ["c10::BFloat16", "c10::BFloat16"]


def operator(name: str, external: int, dims: list, types: list) -> dict:
    args = {"External id": external, "Input Dims": dims, "Input type": types}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 1.0, "dur": 1.0, "args": args}


def test_costs() -> None:
    assert product("aten::mm", [[4, 8], [8, 2]], BF16) == Product(128, 2 * (32 + 16 + 8), 2)
    assert product("aten::addmm", [[2], [4, 8], [8, 2]], ["float", *BF16]) == Product(128, 112, 2)
    assert product("aten::bmm", [[3, 4, 8], [3, 8, 2]], ["float", "float"]) == Product(384, 672, 4)


ODD_SHAPES = (None, [], [[4, 8]], [[4, 8], [9, 2]], [[4], [4]], [[4, -8], [-8, 2]], "x", [[2, 4, 8], [3, 8, 2]])


@pytest.mark.parametrize("dims", [*ODD_SHAPES, [[4, 2**50], [2**50, 1]]])
def test_what_has_no_shape_has_no_cost(dims: object) -> None:
    assert product("aten::mm", dims, BF16) is None
    assert product("aten::relu", [[4, 8], [8, 2]], BF16) is None
    assert product("aten::mm", [[4, 8], [8, 2]], ["Scalar", "Scalar"]) is None


def test_devices_by_name() -> None:
    names = {
        "NVIDIA H200": "H200",
        "NVIDIA H100 80GB HBM3": "H100",
        "NVIDIA GH200 480GB": "GH200",
        "NVIDIA B200": "B200",
    }
    for name, match in names.items():
        peak = peak_of((Device(0, name),))
        assert peak is not None
        assert peak.match == match
    assert peak_of((Device(0, ""),)) is None


def test_kernels_are_joined_by_external_id(tmp_path: Path) -> None:
    events = [
        operator("aten::mm", 7, [[4096, 4096], [4096, 4096]], BF16),
        operator("aten::mm", 8, [[1, 4096], [4096, 4096]], BF16),
        kernel("nvjet", 0, 200, **{"External id": 7}),
        kernel("splitk", 300, 10, **{"External id": 7}),
        kernel("other", 400, 10, **{"External id": 9}),
    ]
    path = write(tmp_path, render(document(events)))
    (row,) = read_roofline(path, (Device(0, "NVIDIA H200"),))
    assert (row.operation, row.count, row.ns) == ("aten::mm (16 bit)", 1, 210_000)
    assert row.flop_per_s == pytest.approx(2 * 4096**3 / 210e-6)
    assert row.bound == "compute"
    assert read_roofline(path, ())[0].bound is None
