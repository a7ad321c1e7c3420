import pytest

from whystall.evidence.devices import DEVICES, device


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("NVIDIA H200", "H200"), ("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("nvidia a100-sxm4-80gb", "A100-SXM4-80GB"), ("NVIDIA A10G", "A10G"), ("NVIDIA L40S", "L40S"),
    ],
)  # fmt: skip
def test_the_longest_match_wins(name: str, match: str) -> None:
    found = device(name)
    assert found is not None
    assert found.match == match


def test_an_unknown_device_has_no_sheet() -> None:
    assert device("Some Other Accelerator") is None


def test_ridges_are_those_of_data_centre_gpus() -> None:
    """At two bytes a weight: flops over bandwidth, between some tens and some hundreds of tokens."""
    assert all(30 < d.ridge_tokens < 500 for d in DEVICES)
