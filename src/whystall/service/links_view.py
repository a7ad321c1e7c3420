"""The ways between the daemons, as the dashboard shows them."""

from __future__ import annotations

import math

import numpy as np

from whystall.evidence.thresholds import level
from whystall.model.fleet import Link, LinkCondition

from .links import Links, Round
from .view_values import values

SHOWN = 60  # rounds, a quarter of an hour


def links_view(links: Links, host: str = "") -> tuple[Link, ...]:
    """Each way by its peer, to peers on ``host`` alone where one is given; whatever is wrong comes first."""
    found = [_link(peer, rounds[-SHOWN:]) for peer, rounds in links.rounds(host).items()]
    return tuple(sorted(found, key=lambda link: (link.condition == "ok", link.peer)))


def _link(peer: str, rounds: list[Round]) -> Link:
    last = rounds[-1]
    medians = [one.figures()[1] for one in rounds]
    before = [rtt for rtt in medians[:-1] if math.isfinite(rtt)]
    usual = float(np.median(before)) if before else math.nan
    low, median, high = values(last.figures())
    lost = sum(one.lost for one in rounds) / max(sum(one.sent for one in rounds), 1)
    return Link(
        peer=peer,
        at=round(last.t, 3),
        condition=_condition(lost, medians[-1], usual),
        low_s=low,
        median_s=median,
        high_s=high,
        lost_ratio=lost,
        usual_s=values([usual])[0],
        t=tuple(round(one.t, 3) for one in rounds),
        rtts_s=values(medians),
    )


def _condition(lost: float, now: float, usual: float) -> LinkCondition:
    """By the same levels as the evidence, so that page and diagnosis say the same."""
    if not math.isfinite(now):
        return "away"
    if now - usual > level("link_felt") and now >= level("link_slower") * usual:
        return "slower"
    return "lost" if lost >= level("link_lost") else "ok"
