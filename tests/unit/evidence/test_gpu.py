from scenes import evidence_of

HOT = {"clock_mhz": 1100, "bits": 0x40}


def test_a_clock_held_down_by_heat() -> None:
    found = evidence_of({"seconds": 20, "gpu": {"power": 500}}, {"seconds": 30, "gpu": HOT})["gpu.held_down"]
    assert found.strength > 0.5
    assert "heat" in found.text.en
    assert "过热" in found.text.zh


def test_a_full_clock_speaks_against() -> None:
    assert evidence_of({"seconds": 30, "gpu": {"power": 500}})["gpu.held_down"].strength < 0


def test_the_power_cap_alone_is_no_throttle() -> None:
    assert evidence_of({"seconds": 30, "gpu": {"clock_mhz": 1500, "bits": 0x4}})["gpu.held_down"].strength < 0


def test_a_lowered_cap_is_told_from_the_boards_own() -> None:
    lowered = {"seconds": 30, "gpu": {"limit": 350, "power": 348}}
    assert evidence_of(lowered)["gpu.cap_lowered"].strength >= 1
    assert evidence_of({"seconds": 30, "gpu": {"limit": 700, "power": 695}})["gpu.cap_lowered"].strength == 0
    assert evidence_of({"seconds": 30, "gpu": {"limit": 350, "power": 150}})["gpu.cap_lowered"].strength == 0


def test_without_nvml_there_is_none() -> None:
    assert not any(id.startswith("gpu.") for id in evidence_of({"seconds": 30}))
