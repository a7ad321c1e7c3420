"""Names of profiles, what comes with the package, and how data-sheet profiles relate to each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine.batch import Batch
from whystall.emulator.engine.profile import StepClock, StepProfile, capture_sizes, padded_tokens
from whystall.emulator.profiles import fitted_names, load_profile
from whystall.emulator.profiles.datasheet import GPUS, MODELS
from whystall.errors import InputError, UsageError


def test_fitted_profiles_come_with_the_package() -> None:
    assert {"h200-8b", "h200-1b-eager"} <= set(fitted_names())
    for name in fitted_names():
        assert load_profile(name).origin == "recording"


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_every_data_sheet_profile_is_marked_and_sane(gpu: str, model: str, ranks: int) -> None:
    profile = load_profile(f"{gpu}-{model}-tp{ranks}-pcie") if (gpu, model, ranks) != ("h200", "8b", 1) else None
    if profile is None:
        return
    assert (profile.origin, profile.error_ratio >= 0.3) == ("data sheet", True)
    assert 0.0002 < profile.floor_s < 1
    assert (profile.link_s > 0) == (ranks > 1)


def test_the_data_sheet_is_right_about_the_machine_that_was_measured() -> None:
    sheet, fitted = load_profile("h100-8b"), load_profile("h200-8b")
    bandwidth = GPUS["h200"].bandwidth / GPUS["h100"].bandwidth
    assert sheet.floor_s / bandwidth == pytest.approx(fitted.floor_s, rel=sheet.error_ratio)
    assert sheet.token_s == pytest.approx(fitted.token_s, rel=sheet.error_ratio + 0.1)


def test_more_ranks_are_quicker_until_the_link_binds() -> None:
    steps = [load_profile(f"h100-70b-tp{n}-nvlink") for n in (2, 4, 8)]
    assert [p.floor_s for p in steps] == sorted((p.floor_s for p in steps), reverse=True)
    assert load_profile("h100-70b-tp4-pcie").link_token_s > 5 * load_profile("h100-70b-tp4-nvlink").link_token_s


@pytest.mark.parametrize("name", ["", "h100", "h100-9b", "x-8b", "h100-8b-tp3", "../etc/passwd"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        load_profile(name)


def test_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"name": 1}')
    for path in (tmp_path / "bad.json", tmp_path / "none.json"):
        with pytest.raises(InputError):
            load_profile(str(path))


@given(st.integers(1, 3000), st.sampled_from([0, 1, 64, 512]))
def test_padding_goes_up_to_the_next_captured_size(tokens: int, largest: int) -> None:
    padded = padded_tokens(tokens, largest)
    assert padded >= tokens
    assert padded == tokens or padded in capture_sizes(largest)


@given(
    st.integers(1, 300),
    st.integers(0, 10**6),
    st.booleans(),
    st.floats(0, 0.05),
)
def test_a_step_takes_at_least_its_parts(requests: int, context: int, overlap: bool, host: float) -> None:
    profile = StepProfile(name="t", floor_s=0.005, token_s=1e-5, decode_context_s=1e-8, host_s=host, link_s=0.001)
    seconds = StepClock(profile, overlap).seconds(Batch(0, requests, context))
    gpu = 0.005 + context * 1e-8
    assert seconds >= max(gpu, host) + 0.001 - 1e-9
    assert seconds <= gpu + host + 0.001 + 1e-5 * requests + 1e-9
