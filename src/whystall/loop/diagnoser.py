"""``AutoPerformanceDiagnoser``: the loop in Python, its parts replaceable; and the diagnosis alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from whystall import pipeline
from whystall.cases.book import Book
from whystall.cases.past import NOTHING, Past, past_of
from whystall.errors import WhystallError
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Fix
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.reports.finding import Finding
from whystall.sources.live.collector import Progress

from .flow import Loop, Mandate
from .opening import LoopConfig, Opened, opened
from .parts import Parts, Verifier, analyze, costing, detector, optimizer
from .records import Records, Say, silent
from .recovery import resume, undo
from .switch import Pause, go_on
from .verify import SendingVerifier, TrialLimits, WatchingVerifier

_UNREAD = Text("note: kept cases were left out: {why}", "注意：未能使用既往案例：{why}")
Show = Callable[[Progress], None] | None


class AutoPerformanceDiagnoser:
    """Looks at a target, says what limits it and what would help, and with ``config.apply`` does it and proves it.

    ``target`` is a server's address, a model's folder (it is served from then on) or a recording's folder. Each part
    may be given: ``metrics_collector()`` -> :class:`Recording`, ``anomaly_detector(recording)`` -> :class:`Finding` or
    None, ``root_cause_analyzer(recording, finding)`` -> :class:`Diagnosis`, ``optimizer(recording, diagnosis)`` ->
    remedies, ``verifier(switch, remedy, recording, diagnosis)`` -> :class:`Trial`. ``say`` hears what happens.
    """

    def __init__(
        self,
        target: str,
        config: LoopConfig | None = None,
        *,
        metrics_collector: Callable[[], Awaitable[Recording]] | None = None,
        anomaly_detector: Callable[[Recording], Finding | None] | None = None,
        root_cause_analyzer: Callable[[Recording, Finding], Diagnosis] | None = None,
        optimizer: Callable[[Recording, Diagnosis], tuple[Remedy, ...]] | None = None,
        verifier: Verifier | None = None,
        say: Say = silent,
        show: Show = None,
        pause: Pause = go_on,
    ) -> None:
        self.target = target
        self.config = config or LoopConfig()
        self.metrics_collector = metrics_collector
        self.anomaly_detector = anomaly_detector
        self.root_cause_analyzer = root_cause_analyzer or analyze
        self.optimizer = optimizer or _optimizer(self.config)
        self.verifier = verifier
        self.say = say
        self.show = show
        self.pause = pause

    async def run(self) -> Fix | None:
        """None where the target is healthy; else what was found, suggested and, where allowed, done and proven."""
        fix = await self.fix()
        return None if fix.state == "healthy" else fix

    async def fix(self) -> Fix:
        """As :meth:`run`, with an answer for a healthy target too."""
        target = await opened(self.target, self.config, self.say)
        records = Records(target.config.book, self.say)
        mandate = Mandate(
            state=self.config.state_folder,
            apply=self.config.apply,
            canary=self.config.canary,
            recheck_only=self.config.recheck,
        )
        return await Loop(target.name, target.actuator, self._parts(target), mandate, records, self.pause).run()

    async def resume(self) -> Fix:
        """Say what a change that was cut off left on the target; with ``config.apply`` put the old one back."""
        target = await opened(self.target, self.config, self.say)
        return await resume(
            target.must_change(), target.config.state_folder, target.config.book, apply=self.config.apply
        )

    async def undo(self, case: int) -> Fix:
        """Take back the change that was kept in ``case``; with ``config.apply`` it is done."""
        target = await opened(self.target, self.config, self.say)
        where = target.config.state_folder, target.config.book
        return await undo(target.must_change(), *where, case, apply=self.config.apply)

    def _parts(self, target: Opened) -> Parts:
        return Parts(
            metrics_collector=self.metrics_collector or (lambda: target.look(target.config.seconds, self.show)),
            verifier=self.verifier or self._verifier(target),
            anomaly_detector=self.anomaly_detector or detector(self.config.slo, self._past(target)),
            root_cause_analyzer=self.root_cause_analyzer,
            optimizer=self.optimizer,
            cost=costing(self.config.gpu_hour, self.config.slo) if self.config.gpu_hour else None,
        )

    def _past(self, target: Opened) -> Past:
        """What the kept cases say. That they cannot be read is told, and keeps nobody from a diagnosis."""
        store = target.config.book
        if store is None:
            return NOTHING
        try:
            with Book.read(store) as book:
                return past_of(book)
        except WhystallError as error:
            self.say(_UNREAD.format(why=error.message))
            return NOTHING

    def _verifier(self, target: Opened) -> Verifier:
        config = target.config
        limits = TrialLimits(budget_s=config.budget_s, block_s=config.block_s, slo=config.slo, seed=config.seed)
        if config.send_load:
            return SendingVerifier(target.url, config.access, limits, self._say_line, config.load)
        return WatchingVerifier(target.url, target.look, limits, self._say_line)

    def _say_line(self, line: str) -> None:
        self.say(Text(line))


def _optimizer(config: LoopConfig) -> Callable[[Recording, Diagnosis], tuple[Remedy, ...]]:
    return optimizer(config.slo)


class Diagnoser:
    """Diagnoses one target as often as asked: ``await Diagnoser(url).run()``."""

    def __init__(self, target: str, config: LoopConfig | None = None) -> None:
        self.target = target
        self.config = config or LoopConfig()

    async def run(self) -> Diagnosis:
        """Look for ``config.seconds`` and answer. The server is only read."""
        target = await opened(self.target, self.config)
        return pipeline.diagnose(await target.look(self.config.seconds), self.config.slo).diagnosis


def diagnose(target: str, *, seconds: float = 30.0, slo: Slo | str | None = None) -> Diagnosis:
    """What limits ``target``, an address or a recording's folder, since when, and what to change.

    ``slo`` as on the command line: ``"ttft_p95=1s"``. Raises what ``whystall.errors`` lists. Within a running event
    loop use :class:`Diagnoser`.
    """
    promised = Slo.parse(slo) if isinstance(slo, str) else slo
    return asyncio.run(Diagnoser(target, LoopConfig(seconds=seconds, slo=promised)).run())
