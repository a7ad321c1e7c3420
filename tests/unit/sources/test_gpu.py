"""GPU samples to columns."""

import math

from recorded_text import T0, lines, scraped, warned, write
from whystall.sources.files.recording import read_recording

GPU = {
    "t": T0,
    "gpu": 0,
    "name": "NVIDIA H200",
    "util_gpu_pct": 50,
    "power_w": 400.5,
    "sm_clock_mhz": 1980,
    "pcie_tx_kbps": 3,
}


def test_gpu_rows(tmp_path):
    write(tmp_path, scraped(0))
    rows = lines(
        GPU, GPU | {"gpu": 1, "throttle_reasons": 4}, GPU | {"t": T0 - 50, "power_w": None, "sm_max_clock_mhz": 1980}
    )
    write(tmp_path, rows + '{"t": 1, "gpu"\nnonsense\n[1]\n{"t": "x"}\n\n', "gpu.jsonl.gz")
    found = read_recording(tmp_path)
    assert found.gpu.gpu.tolist() == [0, 1, 0]
    assert found.gpu.t.tolist() == [T0, T0, T0 + 1]
    assert found.gpu.util_ratio.tolist() == [0.5, 0.5, 0.5]
    assert found.gpu.throttle_reasons.tolist() == [-1, 4, -1]
    assert found.gpu.pcie_tx_bytes_per_s[0] == 3000
    assert math.isnan(found.gpu.power_w[2])
    assert math.isnan(found.gpu.temp_c[0])
    assert found.gpu.sm_max_clock_hz == 1980e6
    assert warned(found)["bad_lines"].text.en.startswith("4 lines of gpu.jsonl.gz")
    assert "clock_step" in warned(found)
