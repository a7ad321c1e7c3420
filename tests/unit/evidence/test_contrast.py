"""A comparison that somebody made is evidence."""

import msgspec
import pytest

from scenes import scene_of
from whystall.evidence.contrast import contrast
from whystall.evidence.scene import Scene
from whystall.model.recording import Contrast


def seen(*contrasts):
    state = msgspec.structs.replace(scene_of({"seconds": 30}).state, contrasts=contrasts)
    scene = Scene(state)
    return {e.id: e for e in contrast(scene)}, scene


def test_its_strength_grows_with_what_the_thing_costs():
    little, _ = seen(Contrast("lora", "itl", 1.05))
    much, scene = seen(Contrast("lora", "itl", 2.0))
    assert little["contrast.lora"].strength < 0.3
    assert much["contrast.lora"].strength == pytest.approx(1.5)
    assert scene.focus.hurts


def test_what_nothing_names_is_a_loss_without_evidence():
    found, scene = seen(Contrast("", "itl", 2.0))
    assert found == {}
    assert scene.focus.kinds["contrast"] > 0.9


def test_what_two_runs_differ_by_anyway_is_no_loss():
    assert not seen(Contrast("lora", "itl", 1.06))[1].focus.hurts
    assert seen(Contrast("lora", "itl", 1.1))[1].focus.hurts
