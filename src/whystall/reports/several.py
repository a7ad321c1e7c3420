"""The findings of several servers as one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from whystall.causes.judge import worst

from .finding import Finding


def several(findings: Mapping[str, Finding]) -> Finding:
    """The findings of several servers as one: each engine under its server's name, the worst on top. Not empty."""
    if len(findings) == 1:
        return next(iter(findings.values()))
    engines = tuple(
        _under(server, engine) for server, finding in findings.items() for engine in finding.engines or (finding,)
    )
    top = worst([engine.diagnosis for engine in engines])
    picture = next(engine.timeline for engine in engines if engine.diagnosis.engine == top.engine)
    return Finding(top, picture, engines)


def _under(server: str, finding: Finding) -> Finding:
    engine = finding.diagnosis.engine
    named = msgspec.structs.replace(engine, id=f"{server} {engine.id}".strip())
    return msgspec.structs.replace(finding, diagnosis=msgspec.structs.replace(finding.diagnosis, engine=named))
