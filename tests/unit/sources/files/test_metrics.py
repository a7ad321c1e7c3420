"""Metrics files whole, cut short and broken."""

import gzip
import random

import numpy as np
import pytest

from recorded_text import T0, page, row, scraped, warned, write
from whystall.errors import NotMetrics
from whystall.sources.files.recording import read_recording


def test_several_gzip_members(tmp_path):
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(gzip.compress(scraped(k).encode()) for k in range(50)))
    found = read_recording(tmp_path)
    assert len(found.metrics.times) == 50
    assert found.warnings == ()


def noisy(number):
    dice = random.Random(number)
    return scraped(number, text=page(number) + "".join(f"x{k} {dice.random()}\n" for k in range(200)))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.77, 0.999])
def test_a_gzip_cut_short_gives_its_whole_pages(tmp_path, share):
    data = gzip.compress("".join(map(noisy, range(40))).encode())
    (tmp_path / "metrics.prom.gz").write_bytes(data[: int(len(data) * share)])
    found = read_recording(tmp_path)
    assert "truncated_gzip" in warned(found)
    assert 40 * share - 4 < len(found.metrics.times) <= 40
    assert np.isfinite(found.metrics.values).all()


def test_a_gzip_cut_within_its_last_member(tmp_path):
    parts = [gzip.compress(noisy(k).encode()) for k in range(10)]
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(parts)[:-40])
    found = read_recording(tmp_path)
    assert {"truncated_gzip", "cut_page"} <= set(warned(found))
    assert len(found.metrics.times) == 9


def test_a_damaged_gzip_gives_what_came_before(tmp_path):
    parts = [gzip.compress(noisy(k).encode()) for k in range(10)]
    parts[6] = b"\x1f\x8b" + b"\xff" * 50
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(parts))
    found = read_recording(tmp_path)
    assert "damaged_gzip" in warned(found)
    assert len(found.metrics.times) == 6


def test_padding_after_a_gzip_is_no_damage(tmp_path):
    (tmp_path / "metrics.prom.gz").write_bytes(gzip.compress((scraped(0) + scraped(1)).encode()) + b"\0" * 1000)
    assert read_recording(tmp_path).warnings == ()


def test_a_page_cut_at_the_end_is_left_out(tmp_path):
    text = scraped(0) + scraped(1) + scraped(2)
    found = read_recording(write(tmp_path, text[:-30]))
    assert "cut_page" in warned(found)
    assert len(found.metrics.times) == 2
    found = read_recording(write(tmp_path, text[:-12]))  # within a line
    assert "cut_page" in warned(found)
    assert len(found.metrics.times) == 2
    found = read_recording(write(tmp_path, text + "# scrape 17960"))
    assert len(found.metrics.times) == 3


def test_failed_scrapes_are_kept_with_their_errors(tmp_path):
    text = scraped(0) + f"# scrape {T0 + 1} failed TimeoutError: slow\n" + scraped(2)
    found = read_recording(write(tmp_path, text))
    assert [(fail.t, fail.error) for fail in found.metrics.failed] == [(T0 + 1, "TimeoutError: slow")]
    assert warned(found)["failed_scrapes"].text.en == "1 of 3 scrapes failed"
    assert warned(found)["failed_scrapes"].text.zh == "3 次抓取中有 1 次失败"


def test_a_page_that_is_none_counts_as_lost(tmp_path):
    text = scraped(0) + scraped(1, text="<html>502</html>\n") + scraped(2)
    found = read_recording(write(tmp_path, text))
    assert len(found.metrics.times) == 2
    assert found.metrics.failed[0].error.startswith("NotMetrics: ")
    assert "HTML" in warned(found)["bad_page"].text.en


def test_a_clock_that_steps_back_rises(tmp_path):
    times = [0, 1, 2, 3, -96, -95, -94]
    text = (
        "".join(scraped(k, T0 + t) for k, t in enumerate(times))
        + f"# scrape {T0 - 93} failed X\n"
        + scraped(8, T0 - 92)
    )
    found = read_recording(write(tmp_path, text))
    assert np.diff(found.metrics.times).tolist() == [1, 1, 1, 1, 1, 1, 2]
    assert found.metrics.failed[0].t == T0 + 7
    assert row(found, "vllm:num_requests_running").tolist() == [0, 1, 2, 3, 4, 5, 6, 8]
    assert "back 1 time in" in warned(found)["clock_step"].text.en


def test_scrapes_of_the_same_time_keep_the_later_page(tmp_path):
    found = read_recording(write(tmp_path, scraped(0) + scraped(1, T0 + 1) + scraped(7, T0 + 1) + scraped(2)))
    assert found.metrics.times.tolist() == [T0, T0 + 1, T0 + 2]
    assert row(found, "vllm:num_requests_running").tolist() == [0, 7, 2]
    assert "duplicate_scrape" in warned(found)


def test_samples_that_no_counter_has_count_as_not_seen(tmp_path):
    bad = page(1).replace("100.0", "-5").replace("101.0", "NaN").replace("102.0", "+Inf")
    found = read_recording(write(tmp_path, scraped(0) + scraped(1, text=bad) + scraped(2)))
    counters = [k for k, key in enumerate(found.metrics.keys) if key.name == "vllm:generation_tokens_total"]
    assert np.isnan(found.metrics.values[counters, 1]).all()
    assert np.isfinite(found.metrics.values[:, [0, 2]]).all()
    assert warned(found)["negative_counter"].text.en.startswith("2 counter samples")
    assert warned(found)["nan_values"].text.en.startswith("1 counter")


def test_gauges_may_be_anything(tmp_path):
    found = read_recording(write(tmp_path, scraped(0, text="g -3\nh NaN\ni +Inf\n")))
    np.testing.assert_array_equal(found.metrics.values[:, 0], [-3, np.nan, np.inf])
    assert found.warnings == ()


def test_duplicate_series_are_counted(tmp_path):
    found = read_recording(write(tmp_path, scraped(0, text=page(0) + "vllm:num_requests_running 9\n") + scraped(1)))
    assert row(found, "vllm:num_requests_running").tolist() == [9, 1]
    assert "duplicate_series" in warned(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<html><body>Login</body></html>", "HTML"),
        ("", "no whole page"),
        ("\n\n", "no whole page"),
        ("# scrape 1\n", "no whole page"),
        ("# scrape 1796000000 failed TimeoutError\n", "all 1 scrapes failed"),
        ("# scrape x\na 1\n", "all 1 scrapes failed"),
        ("{}", "metrics.prom: line 1"),
        (b"\x00\x01\x02" * 100, "binary"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "metrics.prom is a binary file"),
        ('# scrape 1796000000\na{b="', "no whole page"),
    ],
)
def test_what_holds_no_page_is_refused(tmp_path, text, says):
    with pytest.raises(NotMetrics) as refused:
        read_recording(write(tmp_path, text))
    assert says in refused.value.message
    assert refused.value.hint
    assert refused.value.exit_code == 2
