"""A restart brought other settings, and the loss: all of them back, as one change."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.configuration import SettingShift
from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, flag_as_set
from whystall.remedies.knobs import knobs
from whystall.remedies.rules import spelling
from whystall.remedies.setup import switch_of
from whystall.remedies.situation import Situation

_BACK = Text("Go back to the settings before the restart: {how}", "恢复重启前的设置：{how}")
_AND = Text("{a}, {b}", "{a}，{b}")
_WITH = Text("{flag} {value}", "{flag} {value}")
_ON = Text("{flag} on", "启用 {flag}")
_OFF = Text("{flag} off", "停用 {flag}")
_WITHOUT = Text("without {flag}", "去掉 {flag}")
_BUYS = Text("the server as it was when it was well", "服务器恢复到正常时的状态")
_RISK = Text(
    "what the new settings were set for is undone; put them back one at a time to see which of them costs",
    "新设置的目的随之撤销；可逐项重新启用，以找出代价来自哪一项",
)


def candidates(case: Situation) -> Iterator[Candidate]:
    """The flags that the restart changed as they were before it; none where no start is known to differ."""
    back = {shift.name: _before(shift) for shift in case.state.shifts if _is_flag(case, shift)}
    if not back:
        return
    words = [_word(case, knob, value) for knob, value in back.items()]
    how = words[0]
    for word in words[1:]:
        how = _AND.format(a=how, b=word)
    yield Candidate("back", _BACK.format(how=how), _BUYS, _RISK, back)


def _is_flag(case: Situation, shift: SettingShift) -> bool:
    """What follows of another flag (the number of blocks) is none, nor is what is as before by now."""
    if shift.name not in knobs() or spelling(shift.name, case.version) is None:
        return False
    return case.setup.is_set(shift.name) is True or _before(shift) != ""


def _before(shift: SettingShift) -> str:
    """ "" where nobody had set it."""
    if shift.before in (None, "", "None"):
        return ""
    on = switch_of(shift.before) if knobs()[shift.name].kind == "switch" else None
    return shift.before if on is None else "true" if on else "false"


def _word(case: Situation, knob: str, value: str) -> Text:
    if not value:
        return _WITHOUT.format(flag=flag_as_set(case, knob) or "")
    flag = spelling(knob, case.version) or ""
    if knobs()[knob].kind == "switch":
        return (_ON if value == "true" else _OFF).format(flag=flag)
    return _WITH.format(flag=flag, value=value)
