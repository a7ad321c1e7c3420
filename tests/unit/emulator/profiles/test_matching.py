"""The profile of a server that is known by its GPU and its weights."""

from whystall.emulator.profiles.matching import profile_for


def test_a_fitted_profile_comes_first():
    assert profile_for("NVIDIA H200", 14.5e9).name == "h200-8b"
    assert profile_for("cpu", None, model="/models/l8", eager=True).name == "cpu-l8"


def test_else_the_data_sheets():
    assert profile_for("NVIDIA L40S", 16.1e9).name == "l40s-8b"
    assert profile_for("NVIDIA H100 80GB HBM3", 35e9, tensor_parallel=4).name == "h100-70b-tp4-nvlink"


def test_what_is_not_known_has_none():
    assert profile_for("NVIDIA H200", None) is None
    assert profile_for("", 16e9) is None
    assert profile_for("NVIDIA H200", 3e9) is None
