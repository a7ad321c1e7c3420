"""What speaks against health without being a loss."""

import math

import msgspec

from cases.window import recording_of
from scenes import scene_of
from states import blank
from whystall.evidence.scene import Scene
from whystall.evidence.untold import untold
from whystall.pipeline import states_of
from whystall.state.histograms import empty_histogram

IDLE = {"seconds": 30, "running": 0, "rate": 0, "gpu": {"util": 1.0}}


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


def test_a_gpu_that_works_for_the_other_engine_of_the_page():
    (idle, _) = states_of(recording_of({"phases": [{**IDLE, "peers": [{**IDLE, "running": 8, "rate": 4}]}]}))
    assert untold(Scene(idle)) is None
    (idle, _) = states_of(recording_of({"phases": [{**IDLE, "peers": [IDLE]}]}))
    assert "busy while no request runs" in untold(Scene(idle)).en


def test_late_first_tokens_of_which_the_page_says_no_parts():
    late = scene_of({"seconds": 30, "prefill_s": 0.65}).state
    assert untold(Scene(late)) is None
    unseen = msgspec.structs.replace(late, prefill=empty_histogram(len(late.dt)), queue=empty_histogram(len(late.dt)))
    assert "does not say what of it is queue" in untold(Scene(unseen)).en
    quick = scene_of({"seconds": 30, "prefill_s": 0.05}).state
    assert untold(Scene(msgspec.structs.replace(quick, prefill=empty_histogram(len(quick.dt))))) is None
