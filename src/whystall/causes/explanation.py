"""A word -> what it is: a cause of the catalogue, or a metric of the dialect tables."""

from __future__ import annotations

import difflib
import re

from whystall.errors import UsageError
from whystall.model.explanation import CauseNote, Explanation, LookAlikeNote, MetricName, MetricNote, Step
from whystall.model.text import Text
from whystall.sources.dialects import MetricEntry, describe, entries

from .catalogue import catalogue
from .entry import CauseEntry, Link

# What people say for what the page calls otherwise.
SHORT_NAMES = {
    "ttft": "time_to_first_token_seconds",
    "itl": "inter_token_latency_seconds",
    "tpot": "request_time_per_output_token_seconds",
    "e2e": "e2e_request_latency_seconds",
    "kv_cache": "kv_cache_usage_perc",
    "queue_time": "request_queue_time_seconds",
    "prefill_time": "request_prefill_time_seconds",
    "decode_time": "request_decode_time_seconds",
    "preemption": "num_preemptions",
    "preemptions": "num_preemptions",
    "running": "num_requests_running",
    "waiting": "num_requests_waiting",
}
_QUOTED_AT_END = re.compile(r"\s*[:：]\s*\{\w+\}(?=\s*$)")
_QUOTED = re.compile(r"\{\w+\}")
MOST_OFFERED = 5


def explain(word: str) -> Explanation:
    """What ``word`` is: a cause's id, a metric's name in any version, or a short name as TTFT.

    Raises :class:`~whystall.errors.UsageError` with the nearest names where it is none of them.
    """
    found = find(word)
    if found is None:
        raise UsageError(f"{word!r} is neither a cause nor a metric that whystall knows", offer(word, words()))
    return found


def find(word: str) -> Explanation | None:
    """As :func:`explain`, None where it is none of them."""
    plain = plainly(word)
    if plain in catalogue():
        return Explanation(plain, "cause", cause=_cause(catalogue()[plain]))
    entry = describe(word.strip()) or describe(SHORT_NAMES.get(plain, plain))
    return Explanation(plain, "metric", metric=_metric(entry)) if entry else None


def plainly(word: str) -> str:
    """A word as ids are written."""
    return word.strip().lower().replace("-", "_").replace(" ", "_")


def words() -> tuple[str, ...]:
    """Every word that can be explained: causes, short names, metrics and their older names."""
    metrics = [name for entry in entries() for name in (entry.name, *(alias.name for alias in entry.aliases))]
    return tuple(dict.fromkeys([*catalogue(), *SHORT_NAMES, *metrics]))


def offer(word: str, known: tuple[str, ...]) -> str:
    """The hint for a word that is not ``known``: the nearest, else the causes."""
    bare = plainly(word).split(":")[-1].lstrip("_")
    near = difflib.get_close_matches(bare, known, n=MOST_OFFERED, cutoff=0.5)
    holding = [one for one in known if len(bare) > 2 and bare in one]
    offered = list(dict.fromkeys([*near, *holding]))[:MOST_OFFERED]
    if not offered:
        return f"Causes are: {', '.join(catalogue())}."
    return f"Did you mean {' or '.join(offered)}?"


def _cause(entry: CauseEntry) -> CauseNote:
    return CauseNote(
        id=entry.id,
        title=entry.title,
        role=entry.role,
        what=entry.what,
        predicts=entry.predicts,
        first_step=entry.first_step,
        steps=tuple(map(_step, entry.links)),
        look_alikes=tuple(LookAlikeNote(one.cause, one.told_apart_by) for one in entry.look_alikes),
        weights=dict(entry.weights),
        limit=entry.limit,
        healthy_too=entry.explains_idle,
        settled_by=entry.settled_by,
    )


def _step(link: Link) -> Step:
    claim = Text(_unquoted(link.claim.en), _unquoted(link.claim.zh))
    return Step(claim, tuple(need.evidence for need in link.needs), link.optional, link.rejects)


def _unquoted(claim: str) -> str:
    """A claim without the evidence that a diagnosis would put in."""
    return _QUOTED.sub("…", _QUOTED_AT_END.sub("", claim))


def _metric(entry: MetricEntry) -> MetricNote:
    names = [MetricName(entry.prefix + entry.name, entry.since, entry.until)]
    names += [MetricName(entry.prefix + alias.name, alias.since, alias.until) for alias in entry.aliases]
    return MetricNote(entry.name, entry.type, entry.unit, entry.text, tuple(names))
