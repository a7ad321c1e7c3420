"""Batch limits by GPU and version."""

import pytest

from started_servers import limits, read
from whystall.sources.dialects import vllm_defaults

ONLY_FLAGS = ("vllm", "serve", "m")


LARGE, OTHER, HUGE = (8192, 1024), (2048, 256), (16384, 1024)


@pytest.mark.parametrize(
    ("gpu", "gib", "version", "wanted"),
    [
        ("NVIDIA H200", 140.4, "0.26.0", LARGE),
        ("NVIDIA H100 80GB HBM3", 79.6, "0.26.0", LARGE),
        ("NVIDIA A100-SXM4-80GB", 79.3, "0.26.0", OTHER),
        ("NVIDIA L4", 22.5, "0.32.0", OTHER),
        ("NVIDIA B200", 178.0, "0.32.0", HUGE),
        ("NVIDIA B200", 178.0, "0.27.0", LARGE),
        ("AMD Instinct MI300X", 191.0, "0.32.0", HUGE),
        ("NVIDIA H200", 140.4, "0.8.5", None),
        ("NVIDIA H200", 0.0, "0.26.0", OTHER),
        ("Unknown", 140.4, "0.26.0", None),
    ],
)
def test_defaults_of_gpus(gpu, gib, version, wanted):
    if gib == 0.0:
        assert vllm_defaults.gpu_default(None, gpu, (0, 26)) is None
        return
    found = limits(read(gpu=gpu, gib=gib, version=version, argv=ONLY_FLAGS))
    if wanted is None:
        assert "max_num_seqs" not in found
    else:
        assert found["max_num_batched_tokens"] == (wanted[0], "default", "default")
        assert found["max_num_seqs"] == (wanted[1], "default", "default")
