"""A recording in other words: what says the same gets the same answer, and what is damaged a calm one.

Each is a way in which another recorder, proxy, version or disk writes the same pages; the labels come from people.
"""

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from whystall.cli import run

NAME = "seq_cap"
Line = Callable[[str, str], str]


def scrapes(page: str) -> list[str]:
    return re.split(r"(?m)^(?=# scrape )", page)[1:]


def samples(change: Line) -> Callable[[str], str]:
    """Each sample line as ``change(key, value)`` makes it."""

    def mutate(page: str) -> str:
        lines = page.split("\n")
        return "\n".join(line if not line or line[0] == "#" else change(*line.rpartition(" ")[::2]) for line in lines)

    return mutate


def at_times(change: Callable[[float], str]) -> Callable[[str], str]:
    return lambda page: re.sub(r"(?m)^# scrape (\S+)", lambda found: f"# scrape {change(float(found[1]))}", page)


def labelled(value: str) -> Callable[[str], str]:
    return samples(
        lambda key, number: re.sub(r'model_name="[^"]*"', lambda _: f'model_name="{value}"', key) + f" {number}"
    )


def without(pattern: str) -> Callable[[str], str]:
    return lambda page: re.sub(rf"(?m)^(?:{pattern}).*\n", "", page)


def reversed_labels(key: str, number: str) -> str:
    name, brace, labels = key.partition("{")
    return f"{name}{brace}{','.join(labels[:-1].split(',')[::-1])}}} {number}" if brace else f"{key} {number}"


def restarted_long_ago(key: str, number: str) -> str:
    return f"{key} {float(number) - 30 * 86400}" if key == "process_start_time_seconds" else f"{key} {number}"


def counted_for_long(key: str, number: str) -> str:
    return f"{key} {float(number) + 1e8}" if key.partition("{")[0].endswith("_total") else f"{key} {number}"


SAME: dict[str, Callable[[str], str]] = {
    "labels with markup and escapes": labelled(r"<script>\"\n\\x"),
    "labels like samples": labelled("a} 5 {b=,c"),
    "labels of other scripts": labelled("模型 é"),
    "labels of a kilobyte": labelled("x" * 1000),
    "more labels": samples(lambda key, n: (f'{key[:-1]},pod="a"}}' if key.endswith("}") else key) + f" {n}"),
    "labels in another order": samples(reversed_labels),
    "whole numbers": samples(lambda key, n: f"{key} {n.removesuffix('.0')}"),
    "numbers with exponents": samples(lambda key, n: f"{key} {float(n):.17e}"),
    "times of samples": samples(lambda key, n: f"{key} {n} 1764465000000"),
    "names as Ray has them": samples(lambda key, n: f"{key.replace('vllm:', 'ray_vllm_')} {n}"),
    "no types and help": without("# TYPE|# HELP"),
    "no open bucket": samples(lambda key, n: "" if 'le="+Inf"' in key else f"{key} {n}"),
    "a server of thirty days": samples(restarted_long_ago),
    "counters of thirty days": samples(counted_for_long),
    "times in microseconds": at_times(lambda t: f"{t * 1e6:.0f}"),
    "times that drift": at_times(lambda t: f"{t + 0.003 * (t % 1000):.3f}"),
    "every second scrape": lambda page: "".join(scrapes(page)[::2]),
    "each scrape twice": lambda page: "".join(2 * scrape for scrape in scrapes(page)),
    "two neighbours swapped": lambda page: "".join([*(found := scrapes(page))[:9], found[10], found[9], *found[11:]]),
}
CALM: dict[str, Callable[[str], str]] = {
    "values that no number holds": samples(lambda key, n: f"{key} {random.Random(key).choice(['1e308', '-1e308', n])}"),
    "infinite values": samples(lambda key, n: f"{key} {random.Random(key).choice(['+Inf', '-Inf', n, n])}"),
    "nothing but NaN": samples(lambda key, _: f"{key} NaN"),
    "nothing but zeros": samples(lambda key, _: f"{key} 0"),
    "labels that are none": samples(lambda key, n: f"{key.replace(',', ',,')} {n}"),
    "times beyond the calendar": at_times(lambda t: f"{t * 1e290}"),
    "times from the first": at_times(lambda t: f"{t % 1000 + 1}"),
    "times backwards": lambda page: "".join(scrapes(page)[::-1]),
    "one scrape at the end of time": lambda page: page.replace("# scrape ", "# scrape 9", 1),
    "no gauges": without("vllm:num_requests"),
    "no buckets": samples(lambda key, n: "" if "_bucket" in key else f"{key} {n}"),
    "three scrapes": lambda page: "".join(scrapes(page)[:3]),
    "cut anywhere": lambda page: page[: len(page) * 2 // 3],
}


def asked(change: Callable[[str], str], data: Path, folder: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(data / "recordings" / NAME, folder)
    packed = folder / "metrics.prom.gz"
    page = gzip.decompress(packed.read_bytes()).decode()
    packed.write_bytes(gzip.compress(change(page).encode(), 1))
    code = run(["diagnose", str(folder), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("case", SAME)
def test_the_same_in_other_words(case: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = asked(SAME[case], data, tmp_path / "mutant", capsys)
    assert (code, shown["verdict"], shown["causes"][0]["id"]) == (1, "bottleneck", "seat_cap")


@pytest.mark.parametrize("case", CALM)
def test_what_is_damaged(case: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = asked(CALM[case], data, tmp_path / "mutant", capsys)
    assert code in (0, 1, 2, 3)
    assert shown["schema"] == ("whystall.error/1" if code == 2 else "whystall.diagnosis/1")
