"""Boards: every query is PromQL, panels do not overlap, levels are those of the diagnosis."""

import itertools
import json

import promql_parser
import pytest

from whystall.evidence.thresholds import level
from whystall.model.slo import Slo
from whystall.reports.exports.grafana import BoardsAsked, board_text, boards, expressions


@pytest.mark.parametrize("style", ["vllm", "ray"])
def test_every_query_parses(style: str):
    for board in boards(BoardsAsked(style)).values():  # type: ignore[arg-type]
        for title, expr in expressions(board):
            assert promql_parser.parse(expr.replace("$__rate_interval", "1m")), title


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    for board in boards(BoardsAsked()).values():
        panels = board["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
        for one, other in itertools.combinations([panel["gridPos"] for panel in panels], 2):
            apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            assert apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def test_every_query_goes_to_the_source_that_is_chosen():
    for board in boards(BoardsAsked()).values():
        names = [variable["name"] for variable in board["templating"]["list"]]
        assert names[0] == "source"
        text = board_text(board)
        assert json.loads(text) == board
        for variable in ("instance", "gpu_host"):
            assert (f"${variable}" in text) <= (variable in names)


def test_a_line_is_drawn_at_the_promise_else_at_the_level():
    def line(slo: Slo | None) -> float:
        panels = boards(BoardsAsked(slo=slo))["whystall-engine"]["panels"]
        panel = next(panel for panel in panels if panel["title"] == "Time to first token")
        return panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"]

    assert line(None) == level("felt_wait")
    assert line(Slo.parse("ttft_p95=2s")) == 2.0


def test_the_boards_speak_chinese():
    assert boards(BoardsAsked(lang="zh"))["whystall-fleet"]["title"] == "whystall：集群"
