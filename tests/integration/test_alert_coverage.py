"""Every alert that is exported fires on something, by the real promtool: an emulated fault, the watch's own page, or series
written by hand where nothing here makes the trouble. The table below says which, and docs/fit-in.md repeats it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from alerting import WHERE, faulty_pages, firing, series_of
from watched_pages import Emulated
from whystall.model.slo import Slo
from whystall.reports.exports.rules import RulesAsked, rules_file
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.own_metrics import page
from whystall.service.pulse import BEAT_S
from whystall.service.server import Watching
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers

from .test_exports import FAULTY

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="no prometheus on this machine"),
]
RULES = rules_file(RulesAsked())
PROMISED = rules_file(RulesAsked(slo=Slo.parse("ttft_p95=1s,itl_p95=40ms,e2e_p95=5s,errors=0.1%")))
DOCS = Path(__file__).parents[2] / "docs" / "fit-in.md"
# alert -> fault, minutes, when it comes, whether DCGM's exporter is scraped, the rules. The rest of the faults is in
# test_exports.
EMULATED: dict[str, tuple[str, float, float, bool, str]] = {
    "WhystallGpuThrottle": ("gpu_throttle", 24, 14, True, RULES),
    "WhystallGpuFault": ("gpu_fault", 16, 14, True, RULES),
    "WhystallLowDemand": ("low_demand", 75, 0, False, RULES),
    "WhystallQueue": ("seat_cap", 24, 14, False, RULES),
    "WhystallSlowTokens": ("decode_bandwidth", 28, 14, False, PROMISED),
    "WhystallSlowFirstToken": ("seat_cap", 28, 14, False, PROMISED),
    "WhystallSlowRequests": ("seat_cap", 28, 14, False, PROMISED),
}
# The engine model drafts no tokens and fails no request but all of them at once; who does not answer has no page.
BY_HAND: dict[str, dict[str, str]] = {
    "WhystallSpecDecodeInefficient": {
        "vllm:spec_decode_num_draft_tokens_total": "0+300x60",
        "vllm:spec_decode_num_accepted_tokens_total": "0+15x60",
    },
    "WhystallErrors": {
        'vllm:request_success_total{finished_reason="stop"}': "0+15x60",
        'vllm:request_success_total{finished_reason="error"}': "0x20 0+5x40",
    },
    "WhystallWatchDown": {'up{job="whystall",instance="w:9400"}': "1x20 0x40"},
}
OWN_PAGE = ("WhystallIncident", "WhystallWatchBlind", "WhystallWatchLate")


def alerts(rules: str) -> set[str]:
    groups = yaml.safe_load(rules)["groups"]
    return {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}


def test_every_alert_stands_in_the_table_and_in_the_docs() -> None:
    tested = {*FAULTY.values(), *EMULATED, *BY_HAND, *OWN_PAGE}
    assert tested == alerts(RULES) | alerts(PROMISED)
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `Whystall")]
    assert {name for row in rows for name in row.split("`") if name.startswith("Whystall")} == tested


@pytest.mark.slow
@pytest.mark.parametrize("alert", EMULATED)
def test_an_emulated_fault_fires_it(alert: str, tmp_path: Path) -> None:
    fault, minutes, at, dcgm, rules = EMULATED[alert]
    pages = faulty_pages(fault, minutes, at, dcgm=dcgm)
    assert alert in firing(tmp_path, rules, series_of(pages, rules))
    if at:
        (tmp_path / "before").mkdir()
        calm = pages[: int(at * 60 / 15)]
        assert firing(tmp_path / "before", rules, series_of(calm, rules)) == set()


@pytest.mark.parametrize("alert", BY_HAND)
def test_series_written_by_hand_fire_it(alert: str, tmp_path: Path) -> None:
    found = {}
    for name, values in BY_HAND[alert].items():
        bare, _, labels = name.rstrip("}").partition("{")
        inside = labels if bare == "up" else ",".join(filter(None, (WHERE, 'model_name="m",engine="0"', labels)))
        found[f"{bare}{{{inside}}}"] = spelt(values)
    assert alert in firing(tmp_path, RULES, found)


def spelt(values: str) -> list[str]:
    """promtool's ``a+bxn`` and ``axn`` one by one, so that both forms have the same length."""
    found: list[str] = []
    for part in values.split():
        start, _, count = part.rpartition("x")
        first, _, step = start.partition("+")
        found += [f"{float(first) + float(step or 0) * n:g}" for n in range(int(count) + 1)]
    return found


def own_pages(alert: str) -> list[str | None]:
    """The watch's own pages, a quarter of a minute apart, over ten minutes of trouble of that kind."""
    emulated = Emulated("kv_capacity" if alert == "WhystallIncident" else "", at=300, until=9000)
    watcher = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    emulated.lookout.pulse = watcher.lookout.pulse
    watcher.lookout = emulated.lookout
    times = itertools.count(0.0, 15.0)
    now = 0.0
    watcher.lookout.pulse._clock = lambda: now
    watcher.lookout.pulse._due = 0.0
    answers: Callable[[float], bool] = lambda _t: alert != "WhystallWatchBlind" or emulated.now < 1_790_000_300.0  # noqa: E731
    pages: list[str | None] = []
    for _ in range(60):
        emulated.run(15, answers)
        now = next(times) + (2.0 if alert == "WhystallWatchLate" else 0.0)
        watcher.lookout.pulse._due = now - (2.0 if alert == "WhystallWatchLate" else 0.0)
        watcher.lookout.pulse.beat()
        pages.append(page(watcher))
        now += BEAT_S
    return pages


@pytest.mark.parametrize("alert", OWN_PAGE)
def test_the_watchs_own_page_fires_it(alert: str, tmp_path: Path) -> None:
    fired = firing(tmp_path, RULES, series_of(own_pages(alert), RULES))
    others = set(OWN_PAGE) - {alert}
    assert alert in fired
    assert fired & others <= ({"WhystallIncident"} if alert == "WhystallWatchBlind" else set())
