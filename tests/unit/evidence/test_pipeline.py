import pytest

from scenes import ARGV, scene_of
from whystall.evidence.pipeline import pipeline
from whystall.evidence.scene import Scene
from whystall.profiles.figures import TraceFigures

STAGES = [*ARGV, "--pipeline-parallel-size", "4"]


def found(phase: dict, argv: list[str] = STAGES, trace: TraceFigures | None = None) -> dict:
    scene = scene_of(phase, argv=argv)
    return {one.id: one for one in pipeline(Scene(scene.state, None, trace))}


@pytest.mark.parametrize(("util", "sign"), [(0.3, 1), (0.98, -1)])
def test_idle_stages_by_the_gpus_counter(util: float, sign: int) -> None:
    assert found({"gpu": {"util": util}})["pipeline.idle"].strength * sign > 0


def test_a_trace_goes_before_the_counter_and_few_requests_leave_stages_idle() -> None:
    traced = found({"gpu": {"util": 1.0}}, trace=TraceFigures(busy_ratio=0.4))["pipeline.idle"]
    assert (traced.source, traced.value) == ("trace", pytest.approx(0.6))
    assert found({"running": 1, "rate": 0.2})["pipeline.idle"].value == pytest.approx(0.75)
    assert "pipeline.idle" not in found({"running": 8})


def test_one_stage_has_no_bubble() -> None:
    one = found({"gpu": {"util": 0.3}}, argv=[*ARGV, "--pipeline-parallel-size", "1"])
    assert one["pipeline.stages"].strength == -1.5
    assert "pipeline.idle" not in one
