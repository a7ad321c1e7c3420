"""How a target is read: what the command line says, else its entry in ``whystall.toml``, else the default."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from whystall.errors import UsageError
from whystall.model.duration import parse_duration
from whystall.model.slo import Slo
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address, is_there
from whystall.trials.actuators.spec import ActuatorSpec

from .companions import Companions
from .settings import Settings, TargetEntry

TOKEN_VARIABLE = "WHYSTALL_TOKEN"
DEFAULT_SECONDS = 30.0
DEFAULT_INTERVAL_S = 1.0


class Reading(msgspec.Struct, frozen=True):
    """How to read one target, in full. ``target`` is an address or a folder, ``name`` what the user called it."""

    target: str
    name: str
    seconds: float = DEFAULT_SECONDS
    interval_s: float = DEFAULT_INTERVAL_S
    access: Access = Access()
    log: Path | None = None
    kernel_log: Path | None = None
    server_args: str = ""
    slo: Slo | None = None
    protected: bool = False
    actuator: ActuatorSpec | None = None
    companions: Companions = Companions()
    beside: bool = True
    timed: bool = False  # ``--for`` or ``--interval`` was given


class Asked(msgspec.Struct, frozen=True):
    """The reading options of a command line as they were given (None or empty: not given), and the settings."""

    settings: Settings = Settings()
    seconds: float | None = None
    interval_s: float | None = None
    timeout_s: float | None = None
    headers: tuple[tuple[str, str], ...] = ()
    token_file: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    log: Path | None = None
    server_args: str = ""
    slo: Slo | None = None
    config: Path | None = None
    dcgm: str = ""
    node_exporter: str = ""
    otlp_listen: str = ""
    jaeger: str = ""
    zipkin: str = ""
    service: str = "vllm"
    peers: tuple[str, ...] = ()
    kernel_log: Path | None = None

    def of(self, target: str) -> Reading:
        """How to read ``target``, a name from ``whystall.toml``, an address or a folder.

        Raises :class:`~whystall.errors.UsageError` where there is no target, the time is shorter than the interval, or
        the token or a header cannot be used.
        """
        if not target.strip():
            raise UsageError(
                "the target is empty", "Give a server's address or a recording's folder; a variable may be unset."
            )
        seconds, interval_s = self.seconds or DEFAULT_SECONDS, self.interval_s or _interval(self.settings)
        if seconds < interval_s:
            raise UsageError(
                f"--for {seconds:g}s is shorter than the interval of {interval_s:g} s, and one scrape gives no rate",
                "Look for longer, or scrape more often with --interval.",
            )
        entry = self.settings.entry(target) or TargetEntry(url=target)
        return Reading(
            target=entry.url,
            name=target,
            seconds=seconds,
            interval_s=interval_s,
            access=self._access(entry),
            log=self.log or _path(entry.log),
            kernel_log=self.kernel_log or _path(entry.kernel_log),
            server_args=self.server_args or entry.server_args,
            slo=self.slo or _slo(entry.slo or self.settings.slo),
            protected=self.settings.is_protected(target),
            actuator=entry.actuator,
            companions=Companions(
                self.dcgm or entry.dcgm,
                self.node_exporter or entry.node_exporter,
                self.otlp_listen or entry.otlp_listen,
                self.jaeger,
                self.zipkin,
                self.service,
                _peers(self.peers),
            ),
            beside=entry.beside,
            timed=self.seconds is not None or self.interval_s is not None,
        )

    def server(self, target: str) -> Reading:
        """As :meth:`of`, for verbs that want a server. Raises :class:`~whystall.errors.UsageError` for a file or folder."""
        reading = self.of(target)
        if _is_path(reading.target):
            raise UsageError(
                f"{reading.target} is a file or folder, not a server",
                "Of a recording: whystall diagnose FOLDER; or serve it: whystall replay FOLDER --port 8001",
            )
        return reading

    def _access(self, entry: TargetEntry) -> Access:
        access = Access(
            headers=tuple({**entry.headers, **dict(self.headers)}.items()),
            token=_token(self.token_file or _path(entry.token_file)),
            ca=self.ca or _path(entry.ca),
            certificate=self.cert or _path(entry.cert),
            key=self.key or _path(entry.key),
            timeout_s=self.timeout_s or Access().timeout_s,
        )
        access.check()
        return access


def _is_path(target: str) -> bool:
    return "://" not in target and (target.startswith(("/", ".", "~")) or is_there(target))


def _peers(urls: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses of other daemons. Raises UsageError for one that is none."""
    for url in urls:
        Address.parse(url)
    return urls


def _interval(settings: Settings) -> float:
    return parse_duration(settings.interval) if settings.interval else DEFAULT_INTERVAL_S


def _slo(text: str) -> Slo | None:
    return Slo.parse(text) if text else None


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


def _token(file: Path | None) -> str:
    """The bearer token, from a file or the environment: never from the command line, which every user can list."""
    return os.environ.get(TOKEN_VARIABLE, "").strip() if file is None else token_of(file)


def token_of(file: Path) -> str:
    """The token that a file holds. Raises :class:`~whystall.errors.UsageError` where it holds no single one."""
    try:
        token = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"the token file {file} cannot be read: {error.strerror}", "Check --token-file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the token file {file} is not plain ASCII", "A bearer token has no other characters."
        ) from error
    if not token or len(token.split()) > 1:
        raise UsageError(f"the token file {file} holds no single token", "It must hold the token and nothing else.")
    return token
