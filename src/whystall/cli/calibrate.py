"""``whystall calibrate``: the engine's model fitted to a server that was recorded."""

from __future__ import annotations

from pathlib import Path

import click

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles import write_profile
from whystall.errors import UsageError
from whystall.model.text import Text
from whystall.sources.configuration import read_configuration
from whystall.sources.files.recording import read_recording
from whystall.state.profile_fit import calibrate as fit

from .language import language
from .options import LANG
from .output import Output

_DONE = Text("{file}: a step's time, within {error:.1%} (median)", "{file}：单步耗时，中位误差 {error:.1%}")
_NEXT = Text("Next: whystall emulate --profile {file}", "下一步：whystall emulate --profile {file}")
_SHOWN: tuple[tuple[str, Text], ...] = (
    ("floor_s", Text("a decode step at least", "解码步下限")),
    ("decode_request_s", Text("and for each request", "每个请求")),
    ("decode_context_s", Text("and for each token of context", "每个上下文 token")),
    ("token_s", Text("each token of prefill", "每个预填充 token")),
    ("pair_s", Text("and for each token before it", "其前每个 token")),
    ("host_mixed_s", Text("host: a step with prefill at least", "主机：含预填充步下限")),
    ("host_eager_s", Text("host: a step without CUDA graph at least", "主机：无 CUDA graph 步下限")),
    ("front_s", Text("a request beside the engine", "引擎之外每请求")),
)


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", "file", default="profile.json", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", default="", help="The profile's name [default: the file's].")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@LANG
def calibrate(recordings: tuple[Path, ...], file: Path, name: str, force: bool, lang: str | None) -> int:
    """Fit the engine's model to a server that was recorded.

    RECORDINGS are folders of one model on one machine; different loads make a better fit. Writes a profile that
    whystall emulate and the what-if take.
    """
    tongue = language(lang, "")
    if file.suffix != ".json":
        raise UsageError(f"{file} does not end in .json", "A profile is a JSON file: -o own.json")
    if file.exists() and not force:
        raise UsageError(f"{file} is there already", "Give another -o, or --force to write over it.")
    Output(file=file).check()
    recorded = [read_recording(folder) for folder in recordings]
    profile = fit([(recording, read_configuration(recording)) for recording in recorded], name or file.stem)
    write_profile(profile, file)
    _tell(profile, file, tongue)
    return 0


def _tell(profile: StepProfile, file: Path, tongue: str) -> None:
    for field, text in _SHOWN:
        value = getattr(profile, field)
        if value:
            click.echo(f"{_seconds(value):>12}  {text.in_(tongue)}")
    click.echo(_DONE.format(file=file, error=profile.error_ratio).in_(tongue))
    click.echo(_NEXT.format(file=file).in_(tongue))


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if float(f"{value / size:.3g}") >= 1:  # as shown: 999.7 ps are 1 ns
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-12:.3g} ps"
