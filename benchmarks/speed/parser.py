"""The metrics parser beside prometheus_client's, in one process, on successive and differing scrapes.

Each scrape of Ray's 1,147-series page has other values and 5% of its series under names of labels never seen before, at
random places. Both parsers read the same pages; the best of three runs of CPU time counts. Appends one JSON line to
``benchmarks/results/parser.jsonl``.

    python benchmarks/speed/parser.py [--scrapes 40] [--page PAGE]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from os import environ
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from whystall.sources.exposition import PageParser

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))


def scrapes(page: str, count: int, new_share: float = 0.05, seed: int = 7) -> list[bytes]:
    """``count`` pages with other values, each with that share of its series new."""
    dice = random.Random(seed)
    lines = page.splitlines()
    samples = [k for k, line in enumerate(lines) if line and line[0] != "#"]
    return [_scrape(lines, samples, number, new_share, dice) for number in range(count)]


def _scrape(lines: list[str], samples: list[int], number: int, new_share: float, dice: random.Random) -> bytes:
    new = set(dice.sample([k for k in samples if "{" in lines[k]], round(new_share * len(samples))))
    out = list(lines)
    for k in samples:
        key, _, _ = lines[k].rpartition(" ")
        if k in new:
            key = re.sub(r'="([^"]*)"', rf'="\1.{number}.{k}"', key, count=1)
        out[k] = f"{key} {dice.random() * 1e6 + number}"
    return ("\n".join(out) + "\n").encode()


def ours(pages: list[bytes]) -> tuple[float, int]:
    parser = PageParser()
    parser.parse(pages[0])
    start = time.process_time()
    samples = sum(len(parser.parse(page).ids) for page in pages[1:])
    return time.process_time() - start, samples


def theirs(pages: list[bytes]) -> tuple[float, int]:
    start = time.process_time()
    samples = 0
    for page in pages[1:]:
        samples += sum(len(family.samples) for family in text_string_to_metric_families(page.decode()))
    return time.process_time() - start, samples


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scrapes", type=int, default=20)
    options.add_argument("--page", type=Path, default=SHARED / "samples/ray-2.60/metrics_18080.txt")
    given = options.parse_args()
    pages = scrapes(given.page.read_text(), given.scrapes + 1)
    own = min(ours(pages) for _ in range(3))
    other = min(theirs(pages) for _ in range(3))
    assert own[1] == other[1], "the two parsers read different numbers of samples"
    figures = {
        "samples": own[1],
        "whystall_samples_per_cpu_s": round(own[1] / own[0]),
        "prometheus_client_samples_per_cpu_s": round(other[1] / other[0]),
        "ratio": round(other[0] / own[0], 1),
        "ms_per_page": round(own[0] / given.scrapes * 1e3, 3),
    }
    _append(figures)
    print("\n".join(f"{name:40} {value:>14,}" for name, value in figures.items()))


def _append(figures: dict[str, float]) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    command = " ".join(["python", "benchmarks/speed/parser.py", *sys.argv[1:]])
    line = {"commit": commit.stdout.strip(), "command": command, "time": int(time.time()), **figures}
    with (ROOT / "benchmarks/results/parser.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
