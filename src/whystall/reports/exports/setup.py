"""What ``whystall init`` writes: a configuration, and a place for whystall in what people already run."""

from __future__ import annotations

import ipaddress
import json
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, get_args

import msgspec

from whystall import __version__
from whystall.model.slo import EXAMPLE, Slo
from whystall.sources.live.address import Address

from .figures import Queries
from .grafana import BoardsAsked, board_text, boards
from .rules import RulesAsked, rules_file

Part = Literal["settings", "prometheus", "alertmanager", "grafana", "systemd", "compose", "kubernetes", "helm"]
PARTS: tuple[Part, ...] = get_args(Part)
DEFAULT_TARGET = "http://127.0.0.1:8000"
_PART_OF: dict[str, Part] = {"whystall.toml": "settings", "compose.yaml": "compose", "Dockerfile": "compose"}


class SetupAsked(msgspec.Struct, frozen=True):
    """Which servers, what was promised of them, and which parts are wanted."""

    targets: tuple[str, ...] = (DEFAULT_TARGET,)
    slo: Slo | None = None
    parts: tuple[Part, ...] = PARTS
    lang: str = "en"


def setup_files(asked: SetupAsked) -> dict[str, str]:
    """The text of each file by its place. Raises :class:`~whystall.errors.UsageError` for a target that is no address."""
    addresses = [Address.parse(target) for target in asked.targets]
    values = {
        "slo": f'slo = "{asked.slo}"' if asked.slo else f'# slo = "{EXAMPLE}"',
        "targets": "\n".join(_target_table(name, one) for name, one in zip(names(addresses), addresses, strict=True)),
        "scrape_targets": "\n".join(_scrape_target(address) for address in addresses),
        "version": __version__,
        "chart_version": "0.1.0",
    }
    made = {place: _filled(text, values) for place, text in _templates()}
    values["indented_settings"] = "\n".join(f"  {line}".rstrip() for line in made["whystall.toml"].splitlines())
    made = {place: _filled(text, values) for place, text in made.items()}
    made["prometheus/whystall-rules.yml"] = rules_file(RulesAsked(Queries(), asked.slo, lang=asked.lang))
    for name, board in boards(BoardsAsked(slo=asked.slo, lang=asked.lang)).items():
        made[f"grafana/dashboards/{name}.json"] = board_text(board)
    return {place: made[place] for place in sorted(made) if part_of(place) in asked.parts}


def part_of(place: str) -> Part:
    """The part to which a file belongs."""
    if place in _PART_OF:
        return _PART_OF[place]
    return next(part for part in PARTS if place.startswith(f"{part}/"))


def names(addresses: list[Address]) -> list[str]:
    """A name for each server: its host's first label, with a number where two would have one."""
    found: list[str] = []
    for address in addresses:
        name = _short(address.host)
        while name in found:
            name = f"{_short(address.host)}-{address.port}" if name == _short(address.host) else f"{name}-b"
        found.append(name)
    return found


def _short(host: str) -> str:
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        first = host.partition(".")[0]
        return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in first) or "server"
    return "local" if loopback else "server-" + "".join(letter if letter.isalnum() else "-" for letter in host)


def _target_table(name: str, address: Address) -> str:
    return f"[targets.{name}]\nurl = {json.dumps(address.base)}\n"


def _scrape_target(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    line = f"      - targets: [{json.dumps(f'{host}:{address.port}')}]"
    own = {"__scheme__": address.scheme} if address.scheme != "http" else {}
    if address.prefix:
        own["__metrics_path__"] = f"{address.prefix}/metrics"
    labels = ", ".join(f"{name}: {json.dumps(value)}" for name, value in own.items())
    return f"{line}\n        labels: {{{labels}}}" if labels else line


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def _templates() -> list[tuple[str, str]]:
    return sorted(_below(resources.files(__package__) / "setup_files", ""))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _below(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry.read_text(encoding="utf-8")))
    return found
