"""What ``whystall mcp`` lets an assistant ask: the verbs that only read, each as a function that gives plain data."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from whystall import pipeline
from whystall.cases.book import Book
from whystall.cases.signature import signature_of
from whystall.cases.similar import similar_cases
from whystall.cases.success import success
from whystall.errors import Refused, UsageError
from whystall.model.case import CaseList, SimilarCases, diagnosis_of
from whystall.model.slo import Slo
from whystall.remedies.explanation import explain
from whystall.remedies.whatif import asked_of
from whystall.reports.cases import case_json
from whystall.reports.json import to_json
from whystall.reports.postmortem_text import render_postmortem
from whystall.reports.whatif import render_whatif
from whystall.sources.live.address import Address, is_there

from .collecting import recording_of
from .keeping import past_cases
from .reading import Asked, Reading

SHORTEST_S, LONGEST_S = 5.0, 600.0
MOST_CASES = 200


class Assistant(msgspec.Struct, frozen=True):
    """Answers in plain data, as ``--json`` prints it. It changes nothing, sends no load and writes no case.

    An assistant may be told by what it reads to look elsewhere, so it reads only what its user named: the targets of
    ``whystall.toml``, those ``allowed`` (an address, or a folder with what is below it), and servers on this machine.
    """

    asked: Asked
    store: Path
    allowed: tuple[str, ...] = ()

    def diagnose(self, target: str, seconds: float = 30.0, slo: str = "", lang: str = "en") -> dict[str, Any]:
        """The diagnosis of a server or a recording, with the kept cases like it."""
        reading = self._reading(target, seconds, slo)
        past = past_cases(self.store, self.asked.settings, lang)
        finding = pipeline.diagnose(recording_of(reading, lang), reading.slo, past=past)
        return _plain(to_json(finding.diagnosis, lang))

    def whatif(
        self, target: str, change: list[str], assume: list[str], seconds: float = 30.0, lang: str = "en"
    ) -> dict[str, Any]:
        """What a change (``max-num-seqs=64``) or another load (``rate=x1.5``) would do to a server."""
        wanted = asked_of(tuple(change), tuple(assume), "")
        reading = self._reading(target, seconds, "")
        return _plain(render_whatif(pipeline.whatif(recording_of(reading, lang), [wanted], reading.slo), "json", lang))

    def cases(self, limit: int = 20, lang: str = "en") -> dict[str, Any]:
        """The kept cases, the newest first, and which remedies helped."""
        with Book.read(self.store) as book:
            newest = tuple(book.summaries(limit=max(1, min(limit, MOST_CASES))))
            return _plain(to_json(CaseList(str(self.store), newest, success(book.summaries())), lang))

    def case(self, id: int, lang: str = "en") -> dict[str, Any]:
        """One case with all that it holds."""
        with Book.read(self.store) as book:
            return _plain(case_json(book.case(id), lang))

    def similar(self, id: int, lang: str = "en") -> dict[str, Any]:
        """The kept cases like one, and why."""
        with Book.read(self.store) as book:
            signature = signature_of(diagnosis_of(book.case(id).diagnosis))
            others = [one for one in book.summaries() if one.id != id]
        return _plain(to_json(SimilarCases(id, similar_cases(signature, others)), lang))

    def postmortem(self, id: int, lang: str = "en") -> str:
        """A case's post-mortem as Markdown."""
        with Book.read(self.store) as book:
            return render_postmortem(book.case(id), "markdown", lang)

    def explain(self, word: str, lang: str = "en") -> dict[str, Any]:
        """What a cause, a flag of the server or a metric is."""
        return _plain(to_json(explain(word), lang))

    def _reading(self, target: str, seconds: float, slo: str) -> Reading:
        if not SHORTEST_S <= seconds <= LONGEST_S:
            raise UsageError(f"{seconds:g} s is no time to look", f"From {SHORTEST_S:g} to {LONGEST_S:g} s.")
        if not self._may_read(target):
            raise Refused(
                f"{target} is not among what may be read here",
                "Name it in whystall.toml, or start: whystall mcp --allow TARGET",
            )
        given = msgspec.structs.replace(self.asked, seconds=seconds, slo=Slo.parse(slo) if slo else self.asked.slo)
        return given.of(target)

    def _may_read(self, target: str) -> bool:
        named = self.asked.settings.entry(target) is not None or target in self.allowed
        return named or _is_below(target, self.allowed) or _is_loopback(target)


def _is_below(target: str, allowed: tuple[str, ...]) -> bool:
    path = Path(target)
    folders = [Path(one).resolve() for one in allowed if "://" not in one and Path(one).is_dir()]
    return is_there(target) and any(path.resolve().is_relative_to(folder) for folder in folders)


def _is_loopback(target: str) -> bool:
    # By what is written, not by what a name resolves to: a name may resolve to another address the next time.
    if is_there(target) or (urlsplit(target).scheme not in ("http", "https", "") and "://" in target):
        return False
    try:
        host = Address.parse(target).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (UsageError, ValueError):
        return False


def _plain(text: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(text)
    return body
