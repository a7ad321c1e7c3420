"""What helped before is advised first: the success of remedies in kept cases orders those of one cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from whystall.model.diagnosis import Remedy, Tried


def chance(tried: Tried | None) -> float:
    """The probability that a remedy helps the next time: (helped + 1) / (of + 2), Laplace's rule of succession.

    One half where it was never tried, so that one success puts it before an untried one, and one failure behind.
    """
    return (tried.helped + 1) / (tried.of + 2) if tried else 0.5


def ordered(remedies: Iterable[Remedy], success: Mapping[str, Tried]) -> list[Remedy]:
    """The remedies of one cause, each with how it was ``tried``, by their chance; of equal chance as they came."""
    known = [msgspec.structs.replace(one, tried=success.get(one.id)) for one in remedies]
    return sorted(known, key=lambda one: -chance(one.tried))
