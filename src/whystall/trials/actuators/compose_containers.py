"""The containers of a scaled Compose service, as ``docker compose ps --format json`` tells them."""

from __future__ import annotations

import msgspec

from whystall.errors import InputError

from .actuator import Readiness

_MOST = 256
_HASH = "com.docker.compose.config-hash="
_KILLED = 137  # SIGKILL: what the kernel sends where memory is short
_OVER = ("exited", "dead", "removing")


class _Port(msgspec.Struct, frozen=True, rename="pascal"):
    published_port: int = 0


class Container(msgspec.Struct, frozen=True, rename="pascal"):
    """``health`` is "" where the service has no healthcheck; ``publishers`` are the ports that the host has of it."""

    name: str
    state: str = ""
    health: str = ""
    publishers: tuple[_Port, ...] | None = None
    exit_code: int = 0
    labels: str = ""

    @property
    def made_from(self) -> str:
        """Compose's own hash of the configuration that it was made from; "" where it has none."""
        found = (label.removeprefix(_HASH) for label in self.labels.split(",") if label.startswith(_HASH))
        return next(found, "")

    @property
    def port(self) -> int:
        """A port of the host that is this container's own; 0 where there is none."""
        return next((port.published_port for port in self.publishers or () if port.published_port), 0)

    @property
    def tells(self) -> bool:
        """Whether it can be seen that this one serves, apart from the others."""
        return bool(self.health or self.port)

    def readiness(self) -> Readiness | None:
        """By Docker's own healthcheck; None while it is not settled."""
        if self.state in _OVER or self.health == "unhealthy":
            memory = self.exit_code == _KILLED
            why = f"{self.name} is {self.health if self.state == 'running' else self.state}"
            return Readiness(False, f"{why} (exit code {self.exit_code})" if self.exit_code else why, memory)
        return Readiness(True) if self.health == "healthy" else None


def containers_in(out: bytes) -> tuple[Container, ...]:
    """Those of ``docker compose ps --format json``: an array, or an object a line (Compose 2.21 on). Raises InputError."""
    text = out.strip()
    try:
        if text.startswith(b"["):
            return tuple(msgspec.json.decode(text, type=list[Container])[:_MOST])
        return tuple(msgspec.json.decode(line, type=Container) for line in text.splitlines()[:_MOST] if line.strip())
    except msgspec.MsgspecError as error:
        raise InputError(f"docker compose ps gave no JSON: {error}", "Docker Compose 2 is needed.") from error
