"""What speaks against health without being a loss."""

import math

from scenes import scene_of
from states import blank
from whystall.evidence.scene import Scene
from whystall.evidence.untold import untold


def test_an_ordinary_window_tells_everything():
    assert untold(scene_of({"seconds": 30})) is None


def test_a_queue_whose_admissions_nothing_counts():
    columns = {"running_start": [9.0] * 4, "running_end": [9.0] * 4, "generation_tokens": [9000.0] * 4}
    state = blank([10.0] * 4, waiting_start=[50.0] * 4, waiting_end=[50.0] * 4, **columns)
    assert "50 requests wait" in untold(Scene(state)).en


def test_a_gpu_that_works_for_nobody():
    gpu = {"util": 1.0}
    found = untold(scene_of({"seconds": 30, "running": 0, "rate": 0, "gpu": gpu}))
    assert "100% busy while no request runs" in found.en
    assert untold(scene_of({"seconds": 30, "gpu": gpu})) is None
    assert untold(scene_of({"seconds": 30, "running": 0, "rate": 0, "gpu": {"util": math.nan}})) is None
