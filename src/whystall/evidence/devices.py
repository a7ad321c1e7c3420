"""What data sheets say of GPUs: dense bf16 peak, memory bandwidth, board power."""

from __future__ import annotations

import msgspec


class Device(msgspec.Struct, frozen=True):
    """``flops`` dense bf16 FLOP/s, ``bytes_per_s`` memory bandwidth, ``power_w`` the board's rating."""

    match: str
    flops: float
    bytes_per_s: float
    power_w: float
    read_all_s: float = 0.1  # to read all of its memory once; data-centre and desktop cards take 24 to 90 ms

    @property
    def ridge_tokens(self) -> float:
        """Tokens a step at which weights of two bytes take as long to multiply as to read: flops / bandwidth."""
        return self.flops / self.bytes_per_s


# Longest match first: "H100 PCIe" before "H100".
DEVICES = (
    Device("H200", 989e12, 4.8e12, 700),
    Device("H100 NVL", 835e12, 3.9e12, 400),
    Device("H100 PCIe", 756e12, 2.0e12, 350),
    Device("H100", 989e12, 3.35e12, 700),
    Device("H20", 148e12, 4.0e12, 400),
    Device("H800", 989e12, 3.35e12, 700),
    Device("GH200", 989e12, 4.0e12, 900),
    Device("B200", 2250e12, 8.0e12, 1000),
    Device("B300", 2250e12, 8.0e12, 1400),
    Device("A100-SXM4-80GB", 312e12, 2.04e12, 400),
    Device("A100 80GB PCIe", 312e12, 1.94e12, 300),
    Device("A100", 312e12, 1.56e12, 400),
    Device("A800", 312e12, 2.04e12, 400),
    Device("A10G", 70e12, 0.6e12, 300),
    Device("A10", 125e12, 0.6e12, 150),
    Device("L40S", 362e12, 0.864e12, 350),
    Device("L4", 121e12, 0.3e12, 72),
    Device("RTX 4090", 165e12, 1.008e12, 450),
    Device("RTX 5090", 210e12, 1.79e12, 575),
    Device("RTX PRO 6000", 400e12, 1.79e12, 600),
    Device("GB10", 125e12, 0.273e12, 140, 0.5),
    Device("DGX Spark", 125e12, 0.273e12, 140, 0.5),
    Device("RTX 3090", 71e12, 0.936e12, 350),
    Device("A6000", 155e12, 0.768e12, 300),
    Device("V100", 125e12, 0.9e12, 300),
    Device("L20", 119e12, 0.864e12, 275),
    Device("MI300X", 1307e12, 5.3e12, 750),
    Device("MI325X", 1307e12, 6.0e12, 1000),
)


def device(name: str) -> Device | None:
    """The data sheet of a device by the name that NVML or the log gives, None where the table has none."""
    found = [d for d in DEVICES if d.match.lower() in name.lower()]
    return max(found, key=lambda d: len(d.match)) if found else None
