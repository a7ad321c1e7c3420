"""Settings that a restart inside the window changed, and whether the loss began with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.model.configuration import SettingShift
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .silence import silences

# Settings that say where a server listens, what it writes, and how it is called: none makes it slower.
_WORDS = """host port uds root_path served_model_name model_tag api_key log_level uvicorn_log_level ssl_keyfile
    ssl_certfile disable_log_requests enable_log_requests disable_uvicorn_access_log middleware allowed_origins
    chat_template response_role kv_cache_size_tokens"""
NEUTRAL = frozenset(_WORDS.split())
_SOON_S = 60.0  # a changed limit binds as soon as the usual load is back, which clients are within a minute
_NEAR_S = 5.0  # requests that a stopping server loses are part of its restart, whose first lines come somewhat later
_MOST_NAMED = 3


def settings(scene: Scene) -> Iterator[Evidence]:
    """``config.changed``: absent where the server did not start anew, or where nothing tells its settings."""
    state = scene.state
    changed = [shift for shift in state.shifts if shift.name not in NEUTRAL and _restarted(scene, shift)]
    if changed:
        yield _changed(scene, changed)
        return
    known = [start for start in state.starts if start.flags is not None]
    if state.restarts and len(known) > 1 and known[-1].begun is not None and known[-1].begun >= state.start:
        text = Text("the server started anew with the settings that it had", "服务器以原有设置重新启动")
        yield scene.evidence("config.changed", 0.0, "settings", -1.0, text, "config")


def _restarted(scene: Scene, shift: SettingShift) -> bool:
    """Settings change with a restart only, and no start takes under some seconds: labels that change without a time away
    are of pages of two servers."""
    state, at = scene.state, shift.t - scene.state.start
    away = any(s.where == "gap" and s.begin - _NEAR_S <= at <= s.end + _NEAR_S for s in silences(state))
    return away or any(start.begun == shift.t for start in state.starts)


def _changed(scene: Scene, changed: list[SettingShift]) -> Evidence:
    state = scene.state
    at = max(shift.t for shift in changed) - state.start
    named = ", ".join(f"{s.name} {s.before or 'unset'} → {s.after or 'unset'}" for s in changed[:_MOST_NAMED])
    more = len(changed) - _MOST_NAMED
    text = Text("a restart at {at:span} changed {named}{more}", "{at:span}处的重启改变了 {named}{more}").format(
        at=at, named=named, more=Text(f" and {more} more", f" 等另外 {more} 项") if more > 0 else Text("", "")
    )
    strength = _blame(scene, at)
    onset = scene.onset_at(at)
    return scene.evidence(
        "config.changed", len(changed), "settings", strength, text, "config", onset, anomaly=strength > 0
    )


def _blame(scene: Scene, at: float) -> float:
    """A loss that was there before is not of the change, unless it became far more; one right after it, with a healthy
    past, is."""
    if not scene.inside.any():
        return 0.3
    first = float(scene.state.t_start[np.argmax(scene.inside)])
    begin = next((s.begin for s in silences(scene.state) if s.begin - _NEAR_S <= at <= s.end + _NEAR_S), at)
    if first < begin - _NEAR_S:
        return 0.7 if scene.denser_from(begin, at, _SOON_S) else -0.5
    return 1.5 if first <= at + _SOON_S and scene.before.any() else 0.7
