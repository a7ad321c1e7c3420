"""What the kept cases say of a new one: the cases that look like it, and which remedies helped."""

from __future__ import annotations

import msgspec

from whystall.model.case import CaseSummary
from whystall.model.diagnosis import Diagnosis, SimilarCase, Tried

from .book import Book
from .opening import uid_of
from .signature import signature_of
from .similar import similar_cases
from .success import success

# The newest of them: comparing one takes some 0.1 ms, and what is older than that many incidents was another server.
COMPARED = 2_000


class Past(msgspec.Struct, frozen=True):
    """The cases that are compared with, and how often each remedy helped in all of them."""

    cases: tuple[CaseSummary, ...] = ()
    success: dict[str, Tried] = {}

    def like(self, diagnosis: Diagnosis) -> tuple[SimilarCase, ...]:
        """The kept cases that look like ``diagnosis``, the most alike first; not the case of this very window."""
        itself = uid_of(diagnosis)
        return similar_cases(signature_of(diagnosis), (one for one in self.cases if one.uid != itself))


NOTHING = Past()


def past_of(book: Book) -> Past:
    """What ``book`` holds. Raises what reading it raises."""
    kept = book.summaries(limit=COMPARED)
    return Past(tuple(kept), success(kept))
