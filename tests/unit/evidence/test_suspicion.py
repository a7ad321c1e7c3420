"""What two sides point to: settings and version, where the load did not grow and something got worse."""

import msgspec
import pytest

from whystall.evidence.suspicion import suspects
from whystall.model.comparison import FigureChange, SettingChange
from whystall.model.text import Text

SEATS = SettingChange("max_num_seqs", "flag", "256", "16")
VERSION = SettingChange("version", "property", "0.30", "0.32")
PORT = SettingChange("port", "flag", "8000", "8001")
SLOWER = FigureChange("itl_mean", "latency", Text("ITL"), "s", 0.01, 0.02, 2.0, True, "lower")
MORE = FigureChange("arrival_rate", "workload", Text("arrivals"), "req/s", 4.0, 8.0, 2.0, True)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ([SEATS], ["config_regression"]),
        ([VERSION], ["version_regression"]),
        ([SEATS, VERSION], ["config_regression", "version_regression"]),
        ([PORT], []),
        ([], []),
    ],
)
def test_what_differs_is_suspected(settings: list, found: list) -> None:
    assert [one.cause for one in suspects(settings, [SLOWER])] == found


def test_the_setting_is_named() -> None:
    assert "max_num_seqs 256 → 16" in suspects([SEATS], [SLOWER])[0].because.en


def test_a_larger_load_or_no_loss_points_to_nothing() -> None:
    assert suspects([SEATS], [SLOWER, MORE]) == ()
    fewer = msgspec.structs.replace(MORE, a=8.0, b=4.0)
    assert len(suspects([SEATS], [SLOWER, fewer])) == 1
    assert suspects([SEATS], [msgspec.structs.replace(SLOWER, a=0.02, b=0.01)]) == ()
    assert suspects([SEATS], [msgspec.structs.replace(SLOWER, differs=False)]) == ()
    assert suspects([SEATS], []) == ()
