"""``/api/whatif``: what a change would do to an engine, on its current window."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import msgspec
from aiohttp import web

from whystall.causes.judge import judge
from whystall.errors import TooLarge, TooLittleData, UsageError, WhystallError
from whystall.model.dashboard import WhatIfForm
from whystall.model.engine_state import EngineState
from whystall.model.prediction import WhatIf
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.remedies.whatif import asked_of
from whystall.remedies.whatif.controls import assumptions, controls
from whystall.remedies.whatif.play import DRAWS
from whystall.remedies.whatif.prediction import Stage, answers, require_start, stage_of
from whystall.state.recorded import states_of

from .api_answers import answered, language, refused, require_own_page
from .side_process import SideProcess

PLAY_S = 180.0
HOLD_S = 600.0  # a reader who turns a knob back and forth compares with the same window
MOST_HELD = 50
MOST_STAGES = 4  # of the server as it is, kept in the side process: half of an answer's time
MOST_CHANGES = 20
MAX_BODY_BYTES = 8192


class EngineWindow(msgspec.Struct, frozen=True):
    """The current window of one engine: what was recorded of its server, and the engine's label on that page."""

    recording: Recording
    label: str
    slo: Slo | None = None


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a question: an engine by its id in the fleet, flags or knob ids to values, and what is no flag.

    ``draws`` pairs of runs: few give a first look, with intervals that are as rough.
    """

    engine: str
    change: dict[str, str] = {}
    assume: dict[str, str] = {}
    draws: Annotated[int, msgspec.Meta(ge=4, le=DRAWS)] = DRAWS


Windows = Callable[[str], EngineWindow | None]


class WhatIfApi:
    """``windows`` gives an engine's current window, None where there is no such engine."""

    def __init__(self, side: SideProcess, windows: Windows) -> None:
        self._side = side
        self._windows = windows
        self._held: dict[str, tuple[float, EngineWindow]] = {}

    async def form(self, request: web.Request) -> web.Response:
        """What can be asked of an engine."""
        engine = request.match_info["id"]
        window = self._taken(engine)
        try:
            return answered(request, await self._side.run(form_of, engine, window, timeout_s=PLAY_S))
        except WhystallError as error:
            return refused(error, language(request))

    async def ask(self, request: web.Request) -> web.Response:
        """What one change would do."""
        require_own_page(request)
        try:
            asked = await read_asked(request)
            window = self._window(asked.engine)
            return answered(request, await self._side.run(predicted, window, asked, timeout_s=PLAY_S))
        except WhystallError as error:
            return refused(error, language(request))

    def _window(self, engine: str) -> EngineWindow:
        """The window that the engine's form was made of, if that was lately."""
        taken, held = self._held.get(engine, (float("-inf"), None))
        return held if held is not None and time.monotonic() - taken < HOLD_S else self._taken(engine)

    def _taken(self, engine: str) -> EngineWindow:
        window = self._windows(engine)
        if window is None:
            raise web.HTTPNotFound(reason="no such engine")
        self._held.pop(engine, None)
        self._held[engine] = (time.monotonic(), window)
        while len(self._held) > MOST_HELD:
            del self._held[next(iter(self._held))]
        return window


async def read_asked(request: web.Request) -> Asked:
    """The question in the body. Raises UsageError where it is none, TooLarge where it is longer than any."""
    body = await request.content.read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise TooLarge(f"a question of over {MAX_BODY_BYTES:,} bytes", "Ask for fewer changes at once.")
    try:
        asked = msgspec.json.decode(body, type=Asked)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"this is no question: {error}", 'Send {"engine": "…", "change": {"--flag": "value"}}.'
        ) from None
    if len(asked.change) + len(asked.assume) > MOST_CHANGES:
        raise UsageError(f"over {MOST_CHANGES} changes at once", "Ask for fewer.")
    return asked


def form_of(engine: str, window: EngineWindow) -> WhatIfForm:
    """What can be asked of the engine. Raises what :func:`whystall.state.recorded.states_of` raises."""
    return WhatIfForm(engine, controls(_state(window).configuration), assumptions())


def predicted(window: EngineWindow, asked: Asked) -> WhatIf:
    """What the change would do. Raises UsageError where the server would not start so, TooLittleData."""
    written = [f"{name}={value}" for name, value in asked.change.items()]
    change = asked_of(written, [f"{name}={value}" for name, value in asked.assume.items()])
    state = _state(window)
    require_start(state, [change])
    return answers(_stage(window, state, asked), [change])


_stages: dict[tuple[str, float, int], Stage] = {}  # in the side process, the oldest first


def _stage(window: EngineWindow, state: EngineState, asked: Asked) -> Stage:
    """The runs of the server as it is, played once for each window and number of draws."""
    key = (asked.engine, float(window.recording.metrics.times[-1]), asked.draws)
    if key not in _stages:
        diagnosis = judge(state, window.recording.target.text, slo=window.slo)
        _stages[key] = stage_of(diagnosis, state, window.slo, asked.draws)
        while len(_stages) > MOST_STAGES:
            del _stages[next(iter(_stages))]
    return _stages[key]


def _state(window: EngineWindow) -> EngineState:
    """The engine's state; the only one's where its label is not on the page."""
    states = states_of(window.recording)
    found = [state for state in states if state.engine.id == window.label] or states[:1]
    if not found:
        raise TooLittleData("there is no engine in this window", "Wait for a few scrapes.")
    return found[0]
