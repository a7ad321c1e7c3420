"""One engine's course: from looks to an incident that opens, changes and closes, each once."""

from __future__ import annotations

import hashlib

import msgspec

from whystall.model.diagnosis import Diagnosis, Engine
from whystall.model.incident import Burn, Forecast, Happening, Incident, IncidentKind, IncidentStep, IncidentStepId
from whystall.model.text import Text

# Looks that must agree. A look is some 12 s; whoever is woken for what passes in one stops listening.
CONFIRM = 2
CONFIRM_UNKNOWN = (
    4  # a loss without a cause that is named is more often a wave that passes: twice the looks and seconds
)
# Seconds of the window in which somebody lost something. Two looks at one loss of ten seconds agree, and it is over before
# anybody has read the page; who promised that there is none such gets the burn rate.
LASTS_S = 30.0
# What came and went by itself is this server's way: each time within so long, twice as much of it is needed to be news
# again, up to four times (as damping of flapping alarms does).
DAMPED_S, DAMPED_MOST = 3600.0, 2
CLEAR = 2
FRESH_S = 30.0  # into a window: what is there from its first scrapes on may have been there before
FAST_BURN = 14.4  # uses up a month's allowance in two days: what pages somebody (SRE workbook, ch. 5)

_CAUSE = Text("now: {headline}", "现在：{headline}")
_RECOVERED = Text("recovered after {minutes}", "{minutes}后恢复")
# Why nobody sees an engine any more.
GONE = Text("it is not there any more; open for {minutes}", "该引擎已不存在；持续{minutes}")
GONE_UNSEEN = Text(
    "it left while nobody watched; open for {minutes} until that was known",
    "该引擎在无人监视时已离开；至发现时持续{minutes}",
)
UNWATCHED = Text("it is not watched any more; open for {minutes}", "该引擎不再被监视；持续{minutes}")
_BURNS = Text("{promise} burns {times:.0f} times as fast as promised", "{promise} 的消耗速度是承诺的 {times:.0f} 倍")
_LOOKS = Text("not found yet", "尚未找到")


class Look(msgspec.Struct, frozen=True):
    """What one look at an engine gave. ``full`` is None where nothing could be diagnosed, ``tail`` is the last minute.

    ``unreachable`` is why there is no page, and ``lost_since`` since when; None where there is one.
    ``late``: tokens still come later than before the
    incident, which a last minute without a past to compare with cannot tell; ``felt``: and later than anybody reads.
    ``late_s`` is how many seconds of the window the watch itself was late: they prove no loss.
    """

    at: float
    full: Diagnosis | None = None
    tail: Diagnosis | None = None
    unreachable: Text | None = None
    lost_since: float | None = None
    forecast: Forecast | None = None
    burn: tuple[Burn, ...] = ()
    late: bool = False
    felt: bool = False
    late_s: float = 0.0


def hurts(diagnosis: Diagnosis) -> bool:
    """Whether somebody feels it: a bottleneck, or a loss whose cause could not be told."""
    if diagnosis.verdict != "unknown":
        return diagnosis.verdict == "bottleneck"
    return diagnosis.impact.window_s is not None and diagnosis.impact.requests_affected_ratio != 0.0


def calm(diagnosis: Diagnosis) -> bool:
    """Whether the window shows that nothing hurts, or nothing at all is wrong in it."""
    return diagnosis.verdict == "healthy"


class Course:
    """What is known of one engine from look to look. ``incident`` is the one that is open or warned of, if any."""

    def __init__(self, engine_id: str, target: str, engine: Engine) -> None:
        self.engine_id = engine_id
        self.target = target
        self.engine = engine
        self.incident: Incident | None = None
        self.not_before = float("-inf")  # what was before is over
        self._pending = self._calm = self._other = 0
        self._suspected = float("-inf")  # at the first of the looks that are pending
        self._calm_since: float | None = None
        self._other_cause = ""
        self._warned = 0
        self._seen = (float("-inf"), 0.0)  # when the look before was, and the lost seconds that it saw
        self._passed: list[tuple[float, str]] = []  # when an incident of a limit was over by itself, and its cause

    @property
    def suspects(self) -> bool:
        """Whether the next look must come, however calm the figures are."""
        return bool(self._pending or self._warned or self.incident)

    def see(self, look: Look) -> list[Happening]:
        """Take a look in; what became of the incident, mostly nothing."""
        kind = _kind(look)
        if self.incident is None or self.incident.state == "warning":
            return self._maybe_open(look, kind)
        return self._go_on(look, kind)

    def end(self, at: float) -> list[Happening]:
        """What was open is over, without a look: whoever it depended on is back."""
        return [self._close(Look(at), at)] if self.incident is not None else []

    def leave(self, at: float, why: Text = GONE) -> list[Happening]:
        """What was open is over because the engine is no more: scaled down, or another took its place, or ``why``."""
        return [self._close(Look(at), at, why, "left")] if self.incident is not None else []

    # -- opening

    def _maybe_open(self, look: Look, kind: IncidentKind | None) -> list[Happening]:
        self._suspected = look.at if self._pending == 0 else self._suspected
        self._pending = self._pending + 1 if kind else 0
        needed = _needed(look, kind) if kind else CONFIRM
        lasts = self._lasts(look, self._least_s(look, needed))
        self._seen = (look.at, _lost_s(look) if kind == "limit" else 0.0)
        if kind and self._pending >= needed and (kind != "limit" or lasts):
            return [self._open(look, kind)]
        return self._maybe_warn(look)

    def _least_s(self, look: Look, needed: int) -> float:
        """Seconds that must be lost: more where an unnamed cause may be a wave, and where it came and went before."""
        cause = _cause(look)
        self._passed = [(t, known) for t, known in self._passed if t > look.at - DAMPED_S]
        times = min(sum(known == cause for _, known in self._passed), DAMPED_MOST)
        return float(LASTS_S * needed / CONFIRM * 2**times)

    def _lasts(self, look: Look, least_s: float) -> bool:
        """Whether the loss is no wave that passes: it is long enough, and went on or came again after it was suspected.

        It cannot have grown by more than the time since the look before: what only one look sees of the minutes before is a
        matter of where its window begins.
        """
        if look.full is None:
            return False
        impact, start = look.full.impact, look.full.window.start
        until = start + (impact.lost_until_s or 0.0)
        at, known_s = self._seen
        return min(_lost_s(look), known_s + look.at - at) >= least_s and until > self._suspected

    def _open(self, look: Look, kind: IncidentKind) -> Happening:
        self._pending = self._calm = self._other = self._warned = 0
        since = _since(look)
        headline = _headline(look, kind)
        steps = (*self._steps_before(), _step("began", since, Text("")), _step("opened", look.at, headline))
        known = self.incident
        named = look.full if kind == "limit" or (look.full is not None and look.full.verdict == "bottleneck") else None
        incident = Incident(
            uid=known.uid if known else _uid(self.target, self.engine, look.at),
            id=known.id if known else 0,
            key=f"{self.engine_id}/{kind}",
            engine_id=self.engine_id,
            target=self.target,
            engine=self.engine,
            kind=kind,
            state="open",
            verdict=named.verdict if named else "unknown",
            headline=headline,
            since=min(since, look.at),
            opened=look.at,
            updated=look.at,
            burn=look.burn,
            steps=steps,
            forecast=known.forecast if known else None,
            suggestion=known.suggestion if known else None,
            first_step=known.first_step if known else Text(""),
        )
        self.incident = _with(incident, named)
        return Happening("updated" if known else "opened", self.incident)

    def _steps_before(self) -> tuple[IncidentStep, ...]:
        return self.incident.steps if self.incident else ()

    def _maybe_warn(self, look: Look) -> list[Happening]:
        self._warned = self._warned + 1 if look.forecast else 0
        if self.incident is not None and look.forecast is None:
            self._calm += 1
            return [self._close(look, look.at)] if self._calm >= CLEAR else []
        self._calm = 0
        if look.forecast is None or self.incident is not None or self._warned < CONFIRM:
            return []
        step = _step("warned", look.at, look.forecast.text)
        self.incident = Incident(
            uid=_uid(self.target, self.engine, look.at),
            key=f"{self.engine_id}/limit",
            engine_id=self.engine_id,
            target=self.target,
            engine=self.engine,
            kind="limit",
            state="warning",
            verdict="healthy",
            headline=look.forecast.text,
            since=look.at,
            opened=look.at,
            updated=look.at,
            forecast=look.forecast,
            steps=(step,),
        )
        return [Happening("opened", self.incident)]

    # -- while it lasts, and its end

    def _go_on(self, look: Look, kind: IncidentKind | None) -> list[Happening]:
        assert self.incident is not None
        newest = look.tail or look.full
        if newest is not None and calm(newest) and look.unreachable is None and self._over(look):
            self._calm_since = newest.window.start if self._calm == 0 else self._calm_since
            self._calm += 1
            return [self._close(look, self._calm_since or look.at)] if self._calm >= CLEAR else []
        if kind is not None:
            self._calm = 0
        self.incident = msgspec.structs.replace(self.incident, updated=look.at, burn=look.burn)
        return self._another_cause(look, kind) if kind else []

    def _over(self, look: Look) -> bool:
        """Whether a calm last minute is the end: nothing burns, and nothing is late against the time before."""
        return _kind(look) is None and (not look.late or (look.full is not None and calm(look.full)))

    def _another_cause(self, look: Look, kind: IncidentKind) -> list[Happening]:
        """A cause that two looks put first, and the incident does not, is told."""
        assert self.incident is not None
        named = look.full if look.full is not None and look.full.verdict == "bottleneck" else None
        first = named.causes[0].id if named and named.causes else ""
        if named is None or not first or first == self.incident.cause or not self._may_rename(named):
            self._other = 0
            return []
        self._other = self._other + 1 if first == self._other_cause else 1
        self._other_cause = first
        if self._other < CONFIRM:
            return []
        self._other = 0
        step = _step("cause", look.at, _CAUSE.format(headline=named.headline))
        changed = msgspec.structs.replace(
            self.incident, kind=kind, headline=named.headline, verdict=named.verdict, steps=(*self.incident.steps, step)
        )
        self.incident = _with(changed, named)
        return [Happening("updated", self.incident)]

    def _may_rename(self, named: Diagnosis) -> bool:
        """Whether a look may say better what the incident is: it saw its begin, or what it names began in the window.

        Of an engine that died an hour ago the last minutes show only that nothing moves; why it died is out of their sight.
        """
        assert self.incident is not None
        if not self.incident.cause or named.window.start <= self.incident.since:
            return True
        onset = named.causes[0].onset
        return onset is not None and onset.low > FRESH_S

    def _close(
        self, look: Look, recovered: float, said: Text = _RECOVERED, id: IncidentStepId = "recovered"
    ) -> Happening:
        assert self.incident is not None
        recovered = max(recovered, self.incident.since)
        text = said.format(minutes=_minutes(recovered - self.incident.since))
        closed = msgspec.structs.replace(
            self.incident,
            state="recovered",
            recovered=recovered,
            updated=look.at,
            steps=(*self.incident.steps, _step(id, recovered, text)),
        )
        if (self.incident.kind, self.incident.state, id) == ("limit", "open", "recovered"):
            self._passed.append((recovered, closed.cause))
        self.incident, self.not_before = None, recovered
        self._pending = self._calm = self._other = self._warned = 0
        return Happening("recovered", closed)


def _kind(look: Look) -> IncidentKind | None:
    """What trouble the look shows, None where none."""
    if look.unreachable is not None:
        return "unreachable"
    # A last minute in which all steps are slow looks healthy by itself: late against the time before, it is not.
    lasts = look.tail is None or not calm(look.tail) or look.late
    # Requests that begin in time and go on slowly are not among those that a diagnosis counts as affected.
    felt = look.full is not None and (hurts(look.full) or (look.full.verdict == "unknown" and look.felt))
    if felt and lasts:
        return "limit"
    burning = any(burn.short and burn.long and min(burn.short, burn.long) >= FAST_BURN for burn in look.burn)
    return "slo" if burning else None


def _cause(look: Look) -> str:
    """The first cause that is named, "" where none is."""
    named = look.full is not None and look.full.verdict == "bottleneck" and look.full.causes
    return look.full.causes[0].id if look.full is not None and named else ""


def _lost_s(look: Look) -> float:
    """Seconds that were lost, without those for which the watch itself was late."""
    return ((look.full.impact.lost_s or 0.0) if look.full is not None else 0.0) - look.late_s


def _needed(look: Look, kind: IncidentKind) -> int:
    if kind == "limit" and look.full is not None and look.full.verdict != "bottleneck":
        return CONFIRM_UNKNOWN
    return 1 if kind == "unreachable" else CONFIRM  # the scrapes that failed have agreed already


def _since(look: Look) -> float:
    if look.lost_since is not None:
        return look.lost_since
    onsets = [c.onset for c in look.full.causes if c.onset] if look.full is not None else []
    if look.full is not None and onsets:
        return look.full.window.start + onsets[0].seconds
    window = look.full.impact.window_s if look.full is not None else None
    return look.at - (window or 0.0)


def _headline(look: Look, kind: IncidentKind) -> Text:
    named = look.full is not None and look.full.verdict == "bottleneck"
    if kind == "unreachable" and look.unreachable is not None and not named:
        return look.unreachable
    if kind == "slo":
        worst = max(look.burn, key=lambda burn: burn.short or 0.0)
        return _BURNS.format(promise=worst.promise, times=worst.short or 0.0)
    return look.full.headline if look.full is not None else _LOOKS


def _with(incident: Incident, named: Diagnosis | None) -> Incident:
    """The incident with what a diagnosis says of its cause."""
    if named is None:
        return incident
    causes = tuple(cause.id for cause in named.causes)
    return msgspec.structs.replace(
        incident,
        cause=causes[0] if causes else "",
        causes=causes,
        first_step=named.remedies[0].text if named.remedies else Text(""),
        diagnosis=msgspec.structs.replace(named, engines=()),
    )


def _step(id: IncidentStepId, at: float, text: Text) -> IncidentStep:
    return IncidentStep(id, at, text)


def _uid(target: str, engine: Engine, at: float) -> str:
    return hashlib.sha256(repr((target, engine.id, engine.model, at)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _minutes(seconds: float) -> Text:
    if seconds < 120:
        return Text(f"{seconds:.0f} s", f"{seconds:.0f} 秒")
    return Text(f"{seconds / 60:.0f} min", f"{seconds / 60:.0f} 分钟")
