"""Grafana boards as JSON: the fleet, and one engine. They read Prometheus through a variable, so any source will do.

Source of the model: Grafana's dashboard JSON model, schema version 39 (Grafana 10.4 and newer import it).
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import msgspec

from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.sources.dialects.page_names import Style

from .figures import FIGURES, Queries
from .panels import ENGINE_ROWS, FLEET_COLUMNS, FLEET_PANELS, INSTANCE, Panel

SCHEMA_VERSION = 39
FLEET_UID, ENGINE_UID = "whystall-fleet", "whystall-engine"
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH = 24
_ALERTS = 'ALERTS{alertname=~"Whystall.*",alertstate="firing"'
Json = dict[str, Any]


class BoardsAsked(msgspec.Struct, frozen=True):
    """How the boards are to be."""

    style: Style = "vllm"
    slo: Slo | None = None
    lang: str = "en"

    @property
    def queries(self) -> Queries:
        return Queries(self.style, "$__rate_interval", INSTANCE)


def boards(asked: BoardsAsked) -> dict[str, Json]:
    """Each board by its file's name without the suffix."""
    return {FLEET_UID: fleet_board(asked), ENGINE_UID: engine_board(asked)}


def board_text(board: Json) -> str:
    """A board as the text of its file."""
    return json.dumps(board, indent=2, ensure_ascii=False) + "\n"


def fleet_board(asked: BoardsAsked) -> Json:
    """All engines: a table with a row each that leads to the engine's board, and a picture of each figure."""
    number = count(1)
    panels = [
        _placed(_alert_table(asked.lang), next(number), 0, 0, _WIDTH, 5),
        _placed(_engine_table(asked), next(number), 0, 5, _WIDTH, 9),
    ]
    for place, panel in enumerate(FLEET_PANELS):
        shown = _time_series(panel, asked, "{{instance}} {{engine}}")
        panels.append(_placed(shown, next(number), place % 3 * 8, 14 + place // 3 * 8, 8, 8))
    return _board(FLEET_UID, _FLEET, panels, asked, [_instances(asked, many=True)])


def engine_board(asked: BoardsAsked) -> Json:
    """One server, in the order of a request's life, with the levels of the diagnosis drawn in."""
    number = count(1)
    panels: list[Json] = []
    for place, (title, row) in enumerate(ENGINE_ROWS):
        top = place * 9
        panels.append(
            _placed({"type": "row", "title": title.in_(asked.lang), "panels": []}, next(number), 0, top, 24, 1)
        )
        width = _WIDTH // len(row)
        for column, panel in enumerate(row):
            panels.append(_placed(_time_series(panel, asked), next(number), column * width, top + 1, width, 8))
    return _board(ENGINE_UID, _ENGINE, panels, asked, [_instances(asked, many=False), _gpu_hosts()])


def _time_series(panel: Panel, asked: BoardsAsked, legend: str = "") -> Json:
    line = panel.line(asked.slo)
    custom: Json = {"fillOpacity": 10, "spanNulls": False, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    steps: list[Json] = [{"color": "transparent", "value": None}]
    if line is not None:
        custom["thresholdsStyle"] = {"mode": "line"}
        steps.append({"color": "red", "value": line})
    defaults = {"unit": panel.unit, "min": 0, "custom": custom, "thresholds": {"mode": "absolute", "steps": steps}}
    return {
        "type": "timeseries",
        "title": panel.title.in_(asked.lang),
        "description": panel.explained(asked.lang),
        "datasource": _SOURCE,
        "targets": [
            _target(curve.expr, letter, legend or curve.legend)
            for curve, letter in zip(panel.curves(asked.queries, asked.lang), "ABCDEF", strict=False)
        ],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    }


def _engine_table(asked: BoardsAsked) -> Json:
    figures = [FIGURES[id] for id in FLEET_COLUMNS]
    letters = "ABCDEFGHIJ"[: len(figures)]
    targets = [
        _target(figure.query(asked.queries), letter, "") | {"format": "table", "instant": True, "range": False}
        for figure, letter in zip(figures, letters, strict=True)
    ]
    columns = {
        f"Value #{letter}": figure.title.in_(asked.lang) for figure, letter in zip(figures, letters, strict=True)
    }
    units = [
        _override(figure.title.in_(asked.lang), [{"id": "unit", "value": figure.unit}, {"id": "decimals", "value": 2}])
        for figure in figures
    ]
    link = {
        "title": _OPEN.in_(asked.lang),
        "url": f"/d/{ENGINE_UID}?var-instance=${{__value.raw}}&${{source:queryparam}}",
    }
    return {
        "type": "table",
        "title": _ENGINES.in_(asked.lang),
        "datasource": _SOURCE,
        "targets": targets,
        "transformations": [
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": columns}},
        ],
        "fieldConfig": {
            "defaults": {},
            "overrides": [*units, _override("instance", [{"id": "links", "value": [link]}])],
        },
        "options": {"showHeader": True},
    }


def _alert_table(lang: str) -> Json:
    target = _target(f"{_ALERTS}}}", "A", "") | {"format": "table", "instant": True, "range": False}
    hidden = {"Time": True, "__name__": True, "Value": True, "alertstate": True}
    return {
        "type": "table",
        "title": _FIRING.in_(lang),
        "description": _FIRING_ABOUT.in_(lang),
        "datasource": _SOURCE,
        "targets": [target],
        "transformations": [{"id": "organize", "options": {"excludeByName": hidden}}],
        "fieldConfig": {"defaults": {"noValue": _NOTHING.in_(lang)}, "overrides": []},
        "options": {"showHeader": True},
    }


def _override(name: str, properties: list[Json]) -> Json:
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def _target(expr: str, letter: str, legend: str) -> Json:
    return {"refId": letter, "datasource": _SOURCE, "expr": expr, "legendFormat": legend or "__auto"}


def _placed(panel: Json, number: int, x: int, y: int, width: int, height: int) -> Json:
    return {"id": number, **panel, "gridPos": {"x": x, "y": y, "w": width, "h": height}}


def _board(uid: str, title: Text, panels: list[Json], asked: BoardsAsked, variables: list[Json]) -> Json:
    other = ENGINE_UID if uid == FLEET_UID else FLEET_UID
    names = {FLEET_UID: _FLEET, ENGINE_UID: _ENGINE}
    link = {"type": "link", "title": names[other].in_(asked.lang), "url": f"/d/{other}", "keepTime": True}
    return {
        "uid": uid,
        "title": title.in_(asked.lang),
        "tags": ["whystall", "vllm"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "templating": {"list": [_source(asked.lang), *variables]},
        "annotations": {"list": [_fired(asked.lang), _restarted(asked)]},
        "links": [link],
        "panels": panels,
    }


def _source(lang: str) -> Json:
    return {
        "name": "source",
        "label": _SOURCE_LABEL.in_(lang),
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
    }


def _instances(asked: BoardsAsked, *, many: bool) -> Json:
    name = "ray_vllm_num_requests_running" if asked.style == "ray" else "vllm:num_requests_running"
    return _variable("instance", f"label_values({name}, instance)", many)


def _gpu_hosts() -> Json:
    return _variable("gpu_host", "label_values(DCGM_FI_DEV_GPU_UTIL, instance)", True)


def _variable(name: str, query: str, many: bool) -> Json:
    every = {"includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        **(every if many else {"includeAll": False, "multi": False}),
    }


def _fired(lang: str) -> Json:
    return _annotation(_FIRING.in_(lang), f"{_ALERTS},{INSTANCE}}}", "{{alertname}}", "red")


def _restarted(asked: BoardsAsked) -> Json:
    changed = f"changes(process_start_time_seconds{{{INSTANCE}}}[2m]) > 0"
    return _annotation(_RESTARTED.in_(asked.lang), changed, "{{instance}}", "blue")


def _annotation(name: str, expr: str, text: str, colour: str) -> Json:
    return {
        "name": name,
        "datasource": _SOURCE,
        "enable": True,
        "expr": expr,
        "titleFormat": text,
        "iconColor": colour,
        "step": "30s",
    }


def expressions(board: Json) -> list[tuple[str, str]]:
    """Every query of a board with the title of its panel or annotation."""
    panels = [(str(panel["title"]), panel.get("targets", [])) for panel in board["panels"]]
    told = [(title, str(target["expr"])) for title, targets in panels for target in targets]
    return told + [(str(one["name"]), str(one["expr"])) for one in board["annotations"]["list"]]


_FLEET = Text("whystall: fleet", "whystall：集群")
_ENGINE = Text("whystall: engine", "whystall：引擎")
_ENGINES = Text("Engines", "引擎")
_OPEN = Text("Open", "打开")
_FIRING = Text("Alerts that fire", "正在触发的告警")
_FIRING_ABOUT = Text("Of the rules that whystall export alerts writes.", "来自 whystall export alerts 生成的规则。")
_NOTHING = Text("none", "无")
_RESTARTED = Text("Server started", "服务器启动")
_SOURCE_LABEL = Text("Prometheus", "Prometheus")
