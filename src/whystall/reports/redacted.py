"""A diagnosis without the names of requests, adapters and tenants."""

from __future__ import annotations

import msgspec

from whystall.model.diagnosis import Diagnosis
from whystall.model.load import Who
from whystall.sources.live.pseudonyms import Pseudonyms

from .finding import Finding

_NAMED = ("request", "adapter", "tenant")


def redacted(finding: Finding) -> Finding:
    """The same finding; each name of a holder is a numbered stand-in, the same one all through."""
    names = Pseudonyms()
    engines = tuple(msgspec.structs.replace(one, diagnosis=_redacted(one.diagnosis, names)) for one in finding.engines)
    return msgspec.structs.replace(finding, diagnosis=_redacted(finding.diagnosis, names), engines=engines)


def _redacted(diagnosis: Diagnosis, names: Pseudonyms) -> Diagnosis:
    engines = tuple(_redacted(one, names) for one in diagnosis.engines)
    return msgspec.structs.replace(diagnosis, who=_nameless(diagnosis.who, names), engines=engines)


def _nameless(who: Who | None, names: Pseudonyms) -> Who | None:
    if who is None:
        return None
    holders = tuple(
        msgspec.structs.replace(one, name=names.of(one.name, one.kind)) if one.kind in _NAMED else one
        for one in who.holders
    )
    return msgspec.structs.replace(who, holders=holders)
