"""A week at a glance, of a Prometheus that answers by what it is asked."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from servers import http_server
from whystall.reports.exports.figures import recorded
from whystall.sources.live.access import Access
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus
from whystall.sources.prometheus.survey import AFTER_S, BEFORE_S, RECENT_S, RECORDED, _aligned, _episodes, window_of

END, WEEK = 1_800_000_000.0, 7 * 86_400.0
BAD = END - 3 * 86_400.0  # engine b loses for an hour from here on
LITTLE = END - 5 * 86_400.0  # and a little for ten minutes here
STALL = END - 2 * 86_400.0  # engine a stops for some seconds here, where it does
STEP = 300.0


def matrix(*rows: tuple[dict[str, str], list[tuple[float, float]]], kind: str = "matrix") -> web.Response:
    result = [{"metric": metric, "values": [(t, repr(v)) for t, v in values]} for metric, values in rows]
    if kind == "vector":
        result = [{"metric": metric, "value": (t, "1")} for metric, ((t, _),) in rows]
    body = {"status": "success", "data": {"resultType": kind, "result": result}}
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


class Fake:
    """Two engines at 2 requests and 200 tokens a second. ``rules``: whether their figures are recorded."""

    def __init__(self, rules: bool = False, refuses: float = 0.0, stalls: bool = False) -> None:
        self.rules = rules
        self.stalls = stalls
        self.refuses = refuses  # longest time that it answers for
        self.asked: list[str] = []
        self.ranges: list[tuple[str, float, float]] = []

    async def handler(self, request: web.Request) -> web.Response:
        query = request.query["query"]
        self.asked.append(query)
        if request.path.endswith("query_range"):
            begin, end, step = (float(request.query[name]) for name in ("start", "end", "step"))
            if self.refuses and end - begin > self.refuses:
                text = (
                    '{"status":"error","errorType":"execution","error":"query processing would load too many samples"}'
                )
                return web.Response(status=422, text=text, content_type="application/json")
            times = np.arange(begin, end + 1, step).tolist()
            return matrix(*(({"instance": name}, [(t, self.value(query, name, t)) for t in times]) for name in "ab"))
        if query.startswith("count by"):
            names = RECORDED.values() if self.rules else ["whystall:ttft_mean_s"]
            return matrix(*(({"__name__": name}, [(END, 1.0)]) for name in names), kind="vector")
        found = re.search(r"\[(\d+)ms\]", query)
        if found is None or "node_load1" in query or "DCGM_FI_(DEV" in query or "Hostname" in query:
            return matrix()
        end = float(request.query["time"])
        begin = end - int(found[1]) / 1000
        named = re.search(r'instance="(\w)"', query)
        self.ranges.append((named[1] if named else "*", begin, end))
        times = np.arange(begin + 15, end + 1, 15.0).tolist()
        rows = [name for name in "ab" if not named or named[1] == name]
        metric = {"__name__": "vllm:num_requests_running", "engine": "0"}
        return matrix(*((metric | {"instance": name}, [(t, 1.0) for t in times]) for name in rows))

    def value(self, query: str, name: str, t: float) -> float:
        if "up{" in query:
            return 1.0
        if "_bucket" in query:  # over half a second, over 2.5 s: engine a stops once for some seconds
            stalled = name == "a" and self.stalls and STALL <= t < STALL + STEP
            return (8 if "inter_token" in query else 3) / STEP if stalled else 0.0
        bad, little = name == "b" and BAD <= t < BAD + 3600, name == "b" and LITTLE <= t < LITTLE + 600
        ttft = 8.0 if bad else 0.5 if little else 0.05
        if "inter_token" in query or RECORDED["itl"] in query or (RECORDED["tokens"] in query):
            means = "_sum" in query or RECORDED["itl"] in query
            return 200 * (0.01 if means else 1.0)
        return 2 * (ttft if "_sum" in query or RECORDED["ttft"] in query else 1.0)


async def read(fake: Fake, seconds: float = WEEK) -> dict:
    async with http_server(fake.handler) as base:
        return await read_prometheus(parse_question(f"prometheus+{base}?job=v&end={END}"), seconds, Access(), "p")


@pytest.mark.parametrize("rules", [False, True])
async def test_of_a_week_the_worst_time_of_each_engine_is_read(rules: bool) -> None:
    fake = Fake(rules)
    found = await read(fake)
    assert list(found) == ["a", "b"]
    assert found["a"].metrics.times[0] > END - RECENT_S - 1
    times = found["b"].metrics.times
    assert BAD - BEFORE_S - STEP <= times[0] <= BAD - BEFORE_S + STEP
    assert times[-1] - times[0] <= BEFORE_S + AFTER_S
    (said,) = found["b"].warnings
    assert said.id == "prometheus_survey"
    assert "of 168 h" in said.text.en
    assert "lost something 2 times" in said.text.en
    assert ("recorded figures" in said.text.en) == rules
    assert "168 小时" in said.text.zh
    assert "lost nothing" in found["a"].warnings[0].text.en
    assert any("whystall:" in query for query in fake.asked[2:]) == rules
    read_s = sum(end - begin for _, begin, end in fake.ranges)
    assert read_s < 4000  # of two weeks


@pytest.mark.parametrize("rules", [False, True])
async def test_a_stall_of_seconds_that_no_mean_of_five_minutes_shows_is_found(rules: bool) -> None:
    found = await read(Fake(rules, stalls=True))
    times = found["a"].metrics.times
    assert STALL - BEFORE_S - STEP <= times[0] <= STALL
    assert times[-1] >= STALL
    assert "lost nothing" not in found["a"].warnings[0].text.en


def test_gaps_that_are_usual_or_few_are_no_stall_and_the_mean_counts_them_once() -> None:
    times, calm = np.arange(50) * 300.0, [0.05] * 50
    often = [(40 + n % 7) / 300 for n in range(50)]  # long prompts in between, all week
    assert _episodes(times, curves(calm, gaps=often), 300.0) == ()
    few = [0.0] * 20 + [3 / 300] + [0.0] * 29
    assert _episodes(times, curves(calm, gaps=few, waits=few), 300.0) == ()
    (stall,) = _episodes(times, curves(calm, gaps=[0.0] * 20 + [8 / 300] + [0.0] * 29), 300.0)
    assert (stall.begin, stall.end, stall.lost_s) == (19 * 300.0, 20 * 300.0, pytest.approx(4.0))
    queued = [0.05] * 20 + [8.0] + [0.05] * 29
    (mean,) = _episodes(times, curves(queued), 300.0)
    (both,) = _episodes(times, curves(queued, waits=[0.0] * 20 + [1.0] + [0.0] * 29), 300.0)
    assert both == mean


async def test_a_time_that_is_too_long_for_the_server_is_asked_in_halves() -> None:
    found = await read(Fake(refuses=2 * 86_400.0))
    assert BAD - BEFORE_S - STEP <= found["b"].metrics.times[0] <= BAD - BEFORE_S + STEP


async def test_a_short_time_is_read_in_full() -> None:
    fake = Fake()
    found = await read(fake, 600.0)
    assert found["a"].warnings == ()
    assert not any("whystall:" in query or "rate(" in query for query in fake.asked)


def test_the_recorded_names_are_those_that_are_exported() -> None:
    ids = {
        "ttft": "ttft_mean_s",
        "requests": "requests_per_s",
        "itl": "itl_mean_s",
        "tokens": "generation_tokens_per_s",
    }
    assert {name: recorded(id) for name, id in ids.items()} == RECORDED


def curves(ttft: list[float], **more: list[float]) -> dict[str, np.ndarray]:
    ones = np.ones(len(ttft))
    of = {"ttft": np.array(ttft), "requests": ones, "itl": 0.01 * ones, "tokens": ones, "up": ones}
    of |= {"waits": np.nan * ones, "gaps": np.nan * ones}  # no bucket ends there
    return of | {name: np.array(values) for name, values in more.items()}


def test_late_tokens_and_absence_are_losses_too() -> None:
    times = np.arange(10) * 60.0
    calm = [0.05] * 10
    assert _episodes(times, curves(calm), 60.0) == ()
    (late,) = _episodes(times, curves(calm, itl=[0.01] * 6 + [0.05] * 3 + [0.01]), 60.0)
    assert (late.begin, late.end) == (300.0, 480.0)
    (away,) = _episodes(times, curves(calm, up=[1.0] * 4 + [0.0] * 2 + [1.0] * 4), 60.0)
    assert (away.begin, away.end, away.lost_s) == (180.0, 300.0, 1200.0)
    nothing = dict.fromkeys(curves(calm), np.full(10, np.nan))
    assert _episodes(times, nothing, 60.0) == ()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8), st.floats(1, 1e6))
def test_whatever_times_are_answered_find_a_place_or_none(answered: list[float], step_s: float) -> None:
    times = np.arange(5) * step_s
    curves = {"requests": {"a": (np.array(answered), np.ones(len(answered)))}}
    (found,) = _aligned(curves, "a", times, step_s).values()
    assert len(found) == 5
    assert np.isfinite(found).sum() <= len(answered)


@given(st.lists(st.floats(0, 100) | st.just(float("nan")), min_size=3, max_size=50))
def test_episodes_are_within_the_time_and_the_worst_comes_first(ttft: list[float]) -> None:
    found = _episodes(np.arange(len(ttft)) * 60.0, curves(ttft), 60.0)
    assert all(-60 <= one.begin < one.end <= 60 * len(ttft) for one in found)
    assert [one.lost_s for one in found] == sorted((one.lost_s for one in found), reverse=True)
    assert all(b - a <= BEFORE_S + AFTER_S for a, b in (window_of(one, 1e4) for one in found))
