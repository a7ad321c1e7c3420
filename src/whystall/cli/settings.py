"""The configuration file, ``whystall.toml``: promises, targets with names, and which of them are protected."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from whystall.errors import UsageError
from whystall.model.duration import parse_duration
from whystall.model.slo import Slo
from whystall.model.text import LANGUAGES
from whystall.service.settings import WatchSettings
from whystall.trials.actuators.spec import ActuatorSpec

FILE_NAME = "whystall.toml"
MAX_BYTES = 1_000_000
S = TypeVar("S", bound=msgspec.Struct)


class TargetEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[targets.NAME]``: where a server is, how it is reached, and what else tells of it. Only ``url`` is needed."""

    url: str
    headers: dict[str, str] = {}
    token_file: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    log: str = ""
    kernel_log: str = ""
    dcgm: str = ""
    node_exporter: str = ""
    otlp_listen: str = ""
    beside: bool = True
    server_args: str = ""
    slo: str = ""
    protected: bool = False
    actuator: ActuatorSpec | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of ``whystall.toml``. Empty text means that the file does not say."""

    slo: str = ""
    interval: str = ""
    lang: str = ""
    store: str = ""
    protected: tuple[str, ...] = ()
    targets: dict[str, TargetEntry] = {}
    watch: WatchSettings = WatchSettings()

    def entry(self, target: str) -> TargetEntry | None:
        """The entry of a target given by its name or its URL."""
        by_url = (entry for entry in self.targets.values() if _same_url(entry.url, target))
        return self.targets.get(target) or next(by_url, None)

    def is_protected(self, target: str) -> bool:
        """Whether nothing may change, load or stall ``target``, a name or an address."""
        entry = self.entry(target)
        names = {target} | {name for name, known in self.targets.items() if known is entry}
        urls = {target} | ({entry.url} if entry else set())
        listed = any(name in names or any(_same_url(name, url) for url in urls) for name in self.protected)
        return listed or bool(entry and entry.protected)


def load_settings(path: Path | None) -> Settings:
    """Read ``path``, or ``whystall.toml`` in the working directory where there is one.

    Raises :class:`~whystall.errors.UsageError` naming the key that is wrong, with the nearest known name.
    """
    if path is None:
        path = Path(FILE_NAME)
        if not path.is_file():
            return Settings()
    settings = _converted(path, _document(path))
    _check_values(path, settings)
    return settings


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise UsageError(f"{path} is over {MAX_BYTES:,} bytes, too large for a configuration", "Is it this file?")
        return tomllib.loads(body.decode())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "Check --config and the file's mode.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", "Save it as UTF-8; TOML allows nothing else.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", "See docs/configuration.md for an example.") from error


def _converted(path: Path, document: dict[str, Any]) -> Settings:
    targets = document.get("targets", {})
    if not isinstance(targets, dict):
        raise UsageError(f"{path}: targets: a table is needed", "Write [targets.NAME] and below it url = ...")
    entries = {name: _struct(path, f"targets.{name}", entry, TargetEntry) for name, entry in targets.items()}
    top = {key: value for key, value in document.items() if key != "targets"}
    return msgspec.structs.replace(_struct(path, "", top, Settings), targets=entries)


def _struct(path: Path, at: str, document: Any, kind: type[S]) -> S:
    """``document`` as ``kind``; ``at`` is where it stands in the file, so that an error can name the whole key."""
    dot = f"{at}." if at else ""
    known = kind.__struct_fields__
    for key in document if isinstance(document, dict) else ():
        if key not in known:
            raise UsageError(f"{path}: {dot}{key}: no such key", _nearest(key, known))
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        key = dot + where.strip("`.") if where else at
        raise UsageError(f"{path}: {key}: {what}", "See docs/configuration.md for the keys and their types.") from error


def _nearest(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    listed = f"Known here: {', '.join(known)}."
    return f"Did you mean {near[0]}? {listed}" if near else listed


def _check_values(path: Path, settings: Settings) -> None:
    """Values that are text in TOML and more than that to us: each is parsed once, so that the error names its key."""
    checks: list[tuple[str, str, Callable[[str], object]]] = [
        ("slo", settings.slo, Slo.parse),
        ("interval", settings.interval, parse_duration),
    ]
    checks += [(f"targets.{name}.slo", entry.slo, Slo.parse) for name, entry in settings.targets.items()]
    for key, value, parse in checks:
        try:
            if value:
                parse(value)
        except UsageError as error:
            raise UsageError(f"{path}: {key}: {error.message}", error.hint) from error
    try:
        settings.watch.check()
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error
    if settings.lang and settings.lang not in LANGUAGES:
        raise UsageError(f"{path}: lang: {settings.lang!r} is not spoken", f"Known are {', '.join(LANGUAGES)}.")


def _same_url(one: str, other: str) -> bool:
    return one.rstrip("/").lower() == other.rstrip("/").lower()
