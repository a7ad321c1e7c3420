import pytest

from cases.window import recording_of
from whystall.errors import TooLittleData
from whystall.pipeline import diagnose, states_of

AWAY = {"seconds": 45, "away": True}
ARGS = "non-default args: {'model': 'm'}"


def test_a_server_that_gave_no_page_is_told_by_its_log() -> None:
    recording = recording_of({"phases": [AWAY], "log": [[-30.0, ARGS], [40.0, "EngineCore failed to start."]]})
    (state,) = states_of(recording)
    assert "metrics" not in state.signals
    assert state.unanswered_after_s == pytest.approx(75, abs=2)  # since the start began
    found = diagnose(recording).diagnosis
    assert [cause.id for cause in found.causes] == ["startup_failure"]


@pytest.mark.parametrize("log", [[], [[3.0, "nothing of note"]]])
def test_without_a_word_in_the_log_there_is_nothing_to_tell(log: list) -> None:
    with pytest.raises(TooLittleData, match="no metrics page"):
        diagnose(recording_of({"phases": [AWAY], "log": log}))
