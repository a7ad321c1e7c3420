"""Every cause that a knob is named for has a server on which the loop must end it, or a reason why not."""

from __future__ import annotations

from whystall.causes.weights import weighted_catalogue
from whystall.emulator.server.faults import WITHOUT
from whystall.remedies.knobs import knob_of, knobs
from whystall.trials.lab.treatable import TREATABLE, UNTREATED

SCENES = {scene.cause: scene for scene in TREATABLE}


def test_each_cause_of_a_knob_has_a_scene_or_a_reason() -> None:
    named = {treatment.cause for knob in knobs().values() for treatment in knob.treats} & set(weighted_catalogue())
    assert named <= set(SCENES) | set(UNTREATED) | set(WITHOUT)
    assert not set(SCENES) & set(UNTREATED)
    assert all(UNTREATED.values())


def test_the_right_knob_is_one_that_the_tables_name_for_the_cause() -> None:
    for cause, scene in SCENES.items():
        for flag in scene.knobs:
            knob = knob_of(flag)
            assert knob is not None, flag
            assert cause in {treatment.cause for treatment in knob.treats} | {"queue_limit"}, (cause, flag)


async def test_images_are_kept_without_the_flag_only() -> None:
    scene = SCENES["multimodal_preprocessing"]
    target = scene.target()
    assert target.deployment.media is not None
    assert target.deployment.media.room < scene.images
    await target.apply(await target.plan(await target.snapshot(), {"--mm-processor-cache-gb": ""}))
    assert target.deployment.media.room >= scene.images
