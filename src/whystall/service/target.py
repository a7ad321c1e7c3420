"""What is watched, and the names under which it is shown."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.trials.actuators.spec import ActuatorSpec

_ODD = re.compile(r"[^A-Za-z0-9._~-]+")


class WatchTarget(msgspec.Struct, frozen=True):
    """One target: ``name`` as it stands in a URL, ``target`` the address, how it is reached, what was promised.

    ``log`` and ``kernel_log`` are files on this host, ``exporters`` addresses of DCGM's and node_exporter,
    ``otlp_listen`` where its spans are received; ``beside`` whether this host is looked at where the server is on it.
    ``actuator`` says how it is run: the watcher changes nothing, but can say how it would be changed.
    """

    name: str
    target: str
    access: Access = Access()
    slo: Slo | None = None
    argv: tuple[str, ...] = ()
    log: Path | None = None
    kernel_log: Path | None = None
    exporters: tuple[str, ...] = ()
    otlp_listen: str = ""
    beside: bool = True
    actuator: ActuatorSpec | None = None


def host_of(target: str) -> str:
    """The host of a server's address, "" where the target is none."""
    try:
        return Address.parse(target).host
    except UsageError:
        return ""


def short_name(text: str) -> str:
    """``text`` without its scheme and its secrets, with only what may stand in a path: ``http://a:8000`` is ``a-8000``."""
    bare = text.partition("://")[2] or text
    bare = bare.partition("?")[0].rpartition("@")[2]
    return _ODD.sub("-", bare).strip("-")[:80] or "target"
