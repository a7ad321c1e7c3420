"""Which actuator a target has."""

from __future__ import annotations

from pathlib import Path

from whystall.errors import UsageError
from whystall.model.duration import parse_duration

from .actuator import Actuator
from .command import Command
from .compose import Compose
from .kubernetes import Kubernetes
from .process import KeptProcess
from .ray_serve import RayServe
from .spec import (
    ActuatorSpec,
    CommandSpec,
    ComposeSpec,
    EmulatedSpec,
    KubernetesSpec,
    ProcessSpec,
    RayServeSpec,
    ValuesSpec,
)
from .values import Values


def actuator_of(spec: ActuatorSpec, url: str, arguments: tuple[str, ...] = ()) -> Actuator:
    """The actuator that ``spec`` describes, for the server at ``url``.

    ``arguments`` are the server's own where they are known, for actuators that cannot ask. Raises UsageError.
    """
    match spec:
        case ProcessSpec() | EmulatedSpec():
            return KeptProcess(Path(spec.folder).expanduser())
        case ComposeSpec():
            return Compose(spec, url, parse_duration(spec.start))
        case KubernetesSpec():
            return Kubernetes(spec, parse_duration(spec.start))
        case RayServeSpec():
            return RayServe(spec, parse_duration(spec.start))
        case CommandSpec():
            return Command(spec, url, parse_duration(spec.start), arguments)
        case ValuesSpec():
            return Values(spec, arguments)


def kept_at(url: str, folder: Path) -> KeptProcess | None:
    """The server among those kept in ``folder`` that listens at ``url``; None where none does."""
    for path in sorted(folder.glob("*/server.json")):
        process = KeptProcess(path.parent)
        if process.server.url.rstrip("/") == url.rstrip("/"):
            return process
    return None


def no_actuator(target: str) -> UsageError:
    """What to say where nothing is known that could change ``target``."""
    return UsageError(
        f"whystall does not know how to change {target}",
        "Say how it is run: [targets.NAME.actuator] in whystall.toml (docs/fix.md). "
        "Without --apply, --undo and --resume nothing has to be known.",
    )
