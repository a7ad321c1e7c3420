"""Relations between two settings, as checks of a start-up rule: is it broken, None where a side is not known."""

from __future__ import annotations

from collections.abc import Callable

from .setup import Setup

Check = Callable[[Setup], bool | None]


def at_most(name: str, other: str) -> Check:
    """``name`` must not be above ``other``. Where vLLM picks ``name`` itself it makes it fit; it never raises ``other``."""

    def broken(setup: Setup) -> bool | None:
        if setup.floats(name):
            return False
        left, right = setup.number(name), setup.number(other)
        return None if left is None or right is None else left > right

    return broken


def divides(name: str, other: str) -> Check:
    """``other`` must be a multiple of ``name``."""

    def broken(setup: Setup) -> bool | None:
        left, right = setup.number(name), setup.number(other)
        return None if not left or right is None else right % left != 0

    return broken


def product_at_most(names: tuple[str, ...], other: str) -> Check:
    """The product of ``names`` must not be above ``other``; a factor that is not known counts as one."""

    def broken(setup: Setup) -> bool | None:
        limit, product = setup.number(other), 1.0
        for name in names:
            product *= setup.number(name) or 1.0
        return None if limit is None else product > limit

    return broken
