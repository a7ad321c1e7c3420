"""Named step-time profiles: fitted ones as JSON beside this file, data-sheet ones computed from a name."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whystall.emulator.engine.profile import StepProfile
from whystall.errors import InputError, NotWritable, UsageError

from .datasheet import datasheet_profile, parse_name

_HERE = Path(__file__).parent
_MAX_BYTES = 1_000_000


def fitted_names() -> list[str]:
    """Names of the profiles that come with the package and were fitted to recordings."""
    return sorted(path.stem for path in _HERE.glob("*.json"))


def load_profile(name: str) -> StepProfile:
    """A profile by name (``h200-8b``), by data sheet (``a100-80gb-32b-tp2-pcie``) or from a file (``own.json``).

    Raises UsageError where the name is unknown, InputError where the file is not a profile.
    """
    if name in fitted_names():
        return read_profile(_HERE / f"{name}.json")
    if name.endswith(".json"):
        return read_profile(Path(name))
    machine = parse_name(name)
    if machine is None:
        raise UsageError(
            f"no profile is called {name!r}",
            f"Fitted: {', '.join(fitted_names())}. Computed from data sheets: GPU-MODEL[-tpN][-nvlink|-pcie], for "
            "example l40s-8b or h100-32b-tp4-nvlink. Or the path of a file that whystall calibrate wrote.",
        )
    return datasheet_profile(machine)


def read_profile(path: Path) -> StepProfile:
    """A profile that ``whystall calibrate`` wrote."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is too large for a profile", "Give a file that whystall calibrate wrote.")
        profile = msgspec.json.decode(path.read_bytes(), type=StepProfile)
    except OSError as error:
        raise InputError(f"the profile {path} cannot be read: {error.strerror}", "Check the path.") from error
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} is not an engine profile: {error}", "Fit one: whystall calibrate RECORDING"
        ) from error
    return profile


def write_profile(profile: StepProfile, path: Path) -> None:
    """Write ``profile`` as JSON that a person can read. Raises NotWritable."""
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n")
    except OSError as error:
        raise NotWritable(f"{path} cannot be written: {error.strerror}", "Choose another -o FILE.") from error
