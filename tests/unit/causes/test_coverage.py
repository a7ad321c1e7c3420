from typing import get_args

import msgspec

from scenes import scene_of
from whystall.causes.catalogue import catalogue
from whystall.causes.coverage import HOW, coverage
from whystall.evidence.families import collect
from whystall.model.diagnosis import Signal


def test_every_signal_says_how_to_get_it() -> None:
    assert HOW.keys() == set(get_args(Signal))


def test_what_is_seen_is_not_missing() -> None:
    scene = scene_of({})
    found = coverage(scene.state, catalogue(), collect(scene))
    assert set(found.signals) | {m.signal for m in found.missing} == set(get_args(Signal))
    assert not set(found.signals) & {m.signal for m in found.missing}
    assert "metrics" in found.signals


def test_a_missing_signal_names_what_it_would_settle() -> None:
    scene = scene_of({})
    found = coverage(scene.state, catalogue(), collect(scene))
    by_signal = {m.signal: m for m in found.missing}
    assert "gpu_throttle" in by_signal["gpu"].would_settle
    assert [len(m.would_settle) for m in found.missing] == sorted(
        (len(m.would_settle) for m in found.missing), reverse=True
    )


def test_with_all_signals_nothing_is_missing() -> None:
    scene = scene_of({})
    state = msgspec.structs.replace(scene.state, signals=get_args(Signal))
    assert coverage(state, catalogue(), {}).missing == ()
