"""The service level objective: what the operator promised, so what counts as a loss."""

from __future__ import annotations

import difflib

import msgspec

from whystall.errors import UsageError

from .duration import parse_duration

_FIELDS = {"ttft_p95": "ttft_p95_s", "itl_p95": "itl_p95_s", "e2e_p95": "e2e_p95_s", "errors": "errors_ratio"}
EXAMPLE = "ttft_p95=1s,itl_p95=50ms,e2e_p95=10s,errors=0.1%"


class Slo(msgspec.Struct, frozen=True):
    """Upper bounds; None where nothing was promised. Quantiles in seconds, errors as a share of requests."""

    ttft_p95_s: float | None = None
    itl_p95_s: float | None = None
    e2e_p95_s: float | None = None
    errors_ratio: float | None = None

    @classmethod
    def parse(cls, text: str) -> Slo:
        """Read ``ttft_p95=1s,itl_p95=50ms,e2e_p95=10s,errors=0.1%``; any of the parts, in any order.

        Raises :class:`~whystall.errors.UsageError` naming the part that is wrong.
        """
        bounds: dict[str, float] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, field = _field(part)
            if field in bounds:
                raise UsageError(f"the SLO names {name} twice", f"Give each bound once, as in {EXAMPLE}.")
            bounds[field] = _bound(name, part.partition("=")[2].strip())
        if not bounds:
            raise UsageError("the SLO is empty", f"Write it as {EXAMPLE}, with the parts that you promise.")
        return cls(**bounds)

    def __str__(self) -> str:
        values = {name: getattr(self, field) for name, field in _FIELDS.items()}
        return ",".join(f"{n}={_written(n, v)}" for n, v in values.items() if v is not None)


def _field(part: str) -> tuple[str, str]:
    name, equals, _ = part.partition("=")
    name = name.strip().lower()
    if not equals:
        raise UsageError(f"the SLO's part {part!r} has no bound", f"Write it as {EXAMPLE}.")
    if name not in _FIELDS:
        near = difflib.get_close_matches(name, _FIELDS, n=1)
        known = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(_FIELDS)}."
        raise UsageError(f"the SLO names {name!r}, which is not measured", known)
    return name, _FIELDS[name]


def _bound(name: str, value: str) -> float:
    try:
        return _ratio(value) if name == "errors" else parse_duration(value)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from None


def _ratio(value: str) -> float:
    percent = value.endswith("%")
    try:
        number = float(value.removesuffix("%"))
    except ValueError:
        number = -1.0
    ratio = number / 100 if percent else number
    if not 0 <= ratio <= 1:
        raise UsageError(f"{value!r} is no share of requests", "Write errors=0.1% or errors=0.001.")
    return ratio


def _written(name: str, value: float) -> str:
    return f"{value:.12g}" if name == "errors" else f"{value:.12g}s"
