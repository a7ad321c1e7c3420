"""What a run of the loop leaves: its steps, and the case in the user's book."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.model.case import Case, CaseOutcome, CaseStep, StepId, plain
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import FixStep
from whystall.model.text import Text
from whystall.model.trial import Trial

Say = Callable[[Text], None]


def silent(_text: Text) -> None:
    """For callers that want no progress."""


class Records:
    """Writes down what happens as it happens: a run that is killed has its case, up to its last step.

    ``store`` None keeps no case.
    """

    def __init__(self, store: Path | None, say: Say = silent) -> None:
        self.store = store
        self.say = say
        self.steps: list[FixStep] = []
        self.case: Case | None = None

    @property
    def number(self) -> int:
        """The case's, 0 where there is none."""
        return self.case.id if self.case else 0

    def step(self, id: StepId, text: Text, said: Text | None = None, **changes: object) -> None:
        """Something happened; ``changes`` are fields of the case that it changes.

        ``said`` is the progress that is told of it where ``text``, which stands beside the step's name, is no sentence alone.
        """
        now = time.time()
        self.steps.append(FixStep(id, now, text))
        self.say(said or text)
        if self.case is not None:
            steps = (*self.case.steps, CaseStep(id, now, text))
            self._update(msgspec.structs.replace(self.case, steps=steps, **changes))

    def opened(self, diagnosis: Diagnosis) -> None:
        """A case of its own, from the diagnosis on."""
        if self.store is None:
            return
        with Book.open(self.store) as book:
            self.case = book.add(case_of(diagnosis, time.time(), "fix"))

    def chose(self, remedy: Remedy | None, text: Text) -> None:
        """The remedy, with its prediction."""
        prediction = remedy.prediction if remedy is not None else None
        self.step("chosen", text, remedy=remedy, prediction=plain(prediction) if prediction is not None else None)

    def tried(self, trial: Trial) -> None:
        """The trial's verdict."""
        text = Text("{verdict}: {because}", "{verdict}：{because}").format(verdict=trial.verdict, because=trial.because)
        self.step("verified", text, trial=plain(trial))

    def ended(
        self,
        outcome: CaseOutcome,
        text: Text,
        after: Diagnosis | None = None,
        baseline: dict[str, float] | None = None,
        said: Text | None = None,
    ) -> None:
        """How it came out; the case is closed. ``baseline`` is what a kept change is checked against later."""
        id: StepId = "kept" if outcome == "kept" else "rolled_back" if outcome == "rolled_back" else "closed"
        seen = plain(msgspec.structs.replace(after, engines=())) if after is not None else None
        self.step(id, text, said, outcome=outcome, closed=time.time(), after=seen, baseline=baseline or {})

    def _update(self, case: Case) -> None:
        assert self.store is not None
        with Book.open(self.store) as book:
            self.case = book.update(case)
