"""What a panel draws and says."""

from whystall.evidence.thresholds import THRESHOLDS
from whystall.model.slo import Slo
from whystall.reports.exports.figures import FIGURES, Queries
from whystall.reports.exports.panels import ENGINE_ROWS, FLEET_COLUMNS, FLEET_PANELS, INSTANCE

PANELS = [panel for _, row in ENGINE_ROWS for panel in row] + list(FLEET_PANELS)


def test_panels_draw_figures_and_levels_that_there_are():
    assert {id for panel in PANELS for id in panel.figures} | set(FLEET_COLUMNS) <= set(FIGURES)
    assert {panel.level for panel in PANELS if panel.level} <= set(THRESHOLDS)
    assert {panel.promise for panel in PANELS if panel.promise} <= set(Slo.__struct_fields__)
    assert all(panel.curves(Queries(), "en") for panel in PANELS)


def test_a_curve_is_of_the_chosen_servers():
    for panel in PANELS:
        assert all(
            "instance=~" in c.expr or "$gpu_host" in c.expr for c in panel.curves(Queries(selector=INSTANCE), "en")
        )


def test_a_panel_says_why_its_line_is_there():
    panel = next(panel for panel in PANELS if panel.level == "kv_wall" and panel.about)
    assert THRESHOLDS["kv_wall"].reason in panel.explained("en")
    assert "KV" in panel.explained("zh")
