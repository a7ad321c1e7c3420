"""A ``/metrics`` page made from a recorded one: its names, labels, buckets and order, with our values.

The recorded page is the only source of names, so that a wrong name here or in ``sources/dialects`` shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from whystall.errors import UsageError

_HERE = Path(__file__).parent / "pages"
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Labels = Mapping[str, str]
_MOST_WRITTEN = 4096  # families, times engines, times values of their labels
_LENGTHS = "vllm:request_prompt_tokens"
# Gives the value of a sample of one engine: family, part (value, sum, count, or a bucket's bound), labels.
Value = Callable[[str, str, Labels], float | None]


class Sample(msgspec.Struct, frozen=True):
    """One line of the recorded page. ``part`` is value, created, sum, count, or bucket."""

    name: str
    family: str
    part: str
    labels: tuple[tuple[str, str], ...]
    value: str


class Family(msgspec.Struct, frozen=True):
    """A metric: its comment lines and its samples, in the page's order."""

    comments: tuple[str, ...]
    name: str
    kind: str
    samples: tuple[Sample, ...]

    @property
    def per_engine(self) -> bool:
        return any(name == "engine" for sample in self.samples for name, _ in sample.labels)


class Written(NamedTuple):
    """A sample's line up to its value, and what is asked for that: alike on every page."""

    start: str
    part: str
    labels: Labels
    recorded: str


def versions() -> list[str]:
    """The versions of vLLM whose page was recorded."""
    return sorted(path.stem.removeprefix("vllm-") for path in _HERE.glob("vllm-*.prom"))


class PageTemplate:
    """The recorded page of one version of vLLM.

    Buckets of lengths go up to ``max_model_len`` where it is given, else to that of the recorded server.
    """

    def __init__(self, version: str, max_model_len: int | None = None) -> None:
        if version not in versions():
            raise UsageError(f"no page of vLLM {version} was recorded", f"Recorded: {', '.join(versions())}.")
        self.families = tuple(_families((_HERE / f"vllm-{version}.prom").read_text(encoding="utf-8")))
        if max_model_len is not None:
            recorded, bounds = self.bounds(_LENGTHS), _length_bounds(max_model_len)
            alike = {family.name for family in self.families if self.bounds(family.name) == recorded}
            self.families = tuple(_rebucketed(f, bounds) if f.name in alike else f for f in self.families)
        self._written: dict[tuple[str, ...], tuple[Written, ...]] = {}

    def bounds(self, family: str) -> list[float]:
        """Finite upper bounds of a histogram's buckets, ascending."""
        for found in self.families:
            if found.name == family:
                edges = {dict(s.labels)["le"] for s in found.samples if s.part == "bucket"}
                return sorted(float(edge) for edge in edges if edge != "+Inf")
        return []

    def histograms(self) -> list[str]:
        return [family.name for family in self.families if family.kind == "histogram"]

    def render(self, engines: list[Value], replace: Labels, http: list[Labels]) -> str:
        """The page. ``engines`` give the values, in order; ``replace`` gives values of labels (the model's name);
        ``http`` the label sets of requests that were served, instead of the recorded ones."""
        lines: list[str] = []
        for family in self.families:
            lines += family.comments
            if family.per_engine:
                for index, value in enumerate(engines):
                    changed = {**replace, "engine": str(index)}
                    lines += self._lines(family, value, changed)
            elif family.name.startswith("http_") and _has_handler(family):
                lines += _http_lines(family, engines[0], http)
            else:
                lines += self._lines(family, engines[0], replace)
        return "\n".join(lines) + "\n"

    def _lines(self, family: Family, value: Value, replace: Labels) -> list[str]:
        written = self._written.get((family.name, *replace.values()))
        if written is None:
            if len(self._written) >= _MOST_WRITTEN:
                self._written.clear()
            written = self._written[(family.name, *replace.values())] = _written(family, replace)
        lines = []
        for start, part, labels, recorded in written:
            got = value(family.name, part, labels)
            lines.append(start + (recorded if got is None else _number(got)))
        return lines


def _length_bounds(most: int) -> list[float]:
    """1, 2, 5, 10 and so on up to ``most`` (vllm.md section 1.2)."""
    decades = range(len(str(most)))
    return [float(step * 10**decade) for decade in decades for step in (1, 2, 5) if step * 10**decade <= most]


def _rebucketed(family: Family, bounds: list[float]) -> Family:
    """The histogram with these finite buckets, in the place of the recorded ones."""
    samples: list[Sample] = []
    for sample in family.samples:
        labels = dict(sample.labels)
        if sample.part != "bucket":
            samples.append(sample)
        elif labels["le"] == "+Inf":
            edges = [*(str(bound) for bound in bounds), "+Inf"]
            samples += [
                msgspec.structs.replace(sample, labels=tuple({**labels, "le": edge}.items()), value="0.0")
                for edge in edges
            ]
    return msgspec.structs.replace(family, samples=tuple(samples))


def _has_handler(family: Family) -> bool:
    return any(name == "handler" for sample in family.samples for name, _ in sample.labels)


def _written(family: Family, replace: Labels) -> tuple[Written, ...]:
    rows = []
    for sample in family.samples:
        labels = {name: replace.get(name, text) for name, text in sample.labels}
        part = labels["le"] if sample.part == "bucket" else sample.part
        rows.append(Written(f"{sample.name}{_text(labels)} ", part, labels, sample.value))
    return tuple(rows)


def _http_lines(family: Family, value: Value, served: list[Labels]) -> list[str]:
    """The family's samples once for each set of labels that was served."""
    wanted = {name for sample in family.samples for name, _ in sample.labels if name != "le"}
    sets = {tuple((name, text) for name, text in labels.items() if name in wanted) for labels in served}
    shapes = {(s.name, s.part, dict(s.labels).get("le", "")): s for s in family.samples}
    lines = []
    for labels in sorted(sets):
        for sample, part, bound in shapes:
            whole = {**dict(labels), **({"le": bound} if bound else {})}
            whole = dict(sorted(whole.items()))
            got = value(family.name, bound or part, whole)
            lines.append(f"{sample}{_text(whole)} {_number(got or 0.0)}")
    return lines


def _text(labels: Labels) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{text}"' for name, text in labels.items())
    return f"{{{inside}}}"


def _number(value: float) -> str:
    """As prometheus_client writes a number: always a float, with an exponent from 1e6 on."""
    text = repr(float(value))
    dot = text.find(".")
    if value > 0 and dot > 6 and "e" not in text:
        mantissa = f"{text[0]}.{text[1:dot]}{text[dot + 1 :]}".rstrip("0.")
        return f"{mantissa}e+{dot - 1:02}"
    return text


def _families(text: str) -> list[Family]:
    families: list[Family] = []
    comments: list[str] = []
    samples: list[Sample] = []
    name = kind = ""
    for line in text.splitlines():
        if not line.startswith("#"):
            if line:
                samples.append(_sample(line, name, kind))
            continue
        if line.startswith("# HELP ") and (samples or comments):
            families.append(Family(tuple(comments), name, kind, tuple(samples)))
            comments, samples = [], []
        comments.append(line)
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
    families.append(Family(tuple(comments), name, kind, tuple(samples)))
    return families


def _sample(line: str, family: str, kind: str) -> Sample:
    match = _SAMPLE.match(line)
    if match is None:
        raise ValueError(f"the recorded page has a line that is no sample: {line[:80]!r}")
    labels = tuple((name, text) for name, text in _LABEL.findall(match["labels"] or ""))
    part = match["name"].removeprefix(family).lstrip("_") or "value"
    return Sample(match["name"], family, "created" if family.endswith("_created") else part, labels, match["value"])
