"""Another program on one GPU: bf16 matrix products in bursts, so that the server's rank there is the slow one.

::

    python benchmarks/gpu/neighbour.py DEVICE GO_FILE SECONDS

gets its memory and warms up first, then waits for GO_FILE to appear.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

SIZE = 4096
PRODUCTS = 8  # about 1.5 ms of an H200
REST_S = 0.002


def main(device: str, go: Path, seconds: float) -> None:
    """Bursts of matrix products for ``seconds`` once ``go`` exists."""
    a, b = (torch.randn(SIZE, SIZE, device=device, dtype=torch.bfloat16) for _ in range(2))
    a @ b
    torch.cuda.synchronize(device)
    while not go.exists():
        time.sleep(0.02)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(PRODUCTS):
            a @ b
        torch.cuda.synchronize(device)
        time.sleep(REST_S)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
