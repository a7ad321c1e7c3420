import re

import msgspec

import trial_samples as trials
from whystall.reports.trial_html import trial_html


def test_each_interval_is_drawn_on_its_side_and_told_by_its_tone():
    page = trial_html(trials.trial(), "en")
    bars = re.findall(r'class="interval (\w+)" x1="([\d.]+)" x2="([\d.]+)"', page)
    assert [tone for tone, *_ in bars] == ["better", "even", "worse"]
    (_, low, high), (_, left, right), (_, first, last) = bars
    assert float(low) < float(high) < 50
    assert float(left) < 50 < float(right)
    assert 50 < float(first) < float(last) <= 100


def test_a_change_without_an_interval_is_a_point():
    page = trial_html(trials.trial(), "en")
    assert page.count('class="point') == 4
    assert page.count('class="interval') == 3


def test_nothing_runs_and_nothing_is_fetched():
    page = trial_html(trials.trial(), "zh")
    assert "default-src &#39;none&#39;" in page
    assert "script-src" not in page
    assert re.findall(r"<script(?! type=\"application/json\")", page) == []
    assert 'lang="zh-CN"' in page


def test_a_change_beyond_the_picture_is_told_and_marked():
    found = trials.trial()
    far = msgspec.structs.replace(found.effects[0], low=None, mid=43.0, high=None)
    page = trial_html(msgspec.structs.replace(found, effects=(far, *found.effects[1:])), "en")
    assert '<td class="moved">×44 ▸</td>' in page
    assert page.count(" ▸</td>") == 1
