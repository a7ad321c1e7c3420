"""The metrics parser beside prometheus_client's, in one process, on successive and differing scrapes.

Each scrape of Ray's 1,147-series page has other values, and 5% of its series, at random places, give way to series never
seen before. Both parsers read the same pages in turn; the best of three runs counts, in CPU time of this process.
Appends one JSON line to ``benchmarks/results/parser.jsonl``.

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
    """``count`` pages with other values, each with that share of its series replaced by new ones."""
    dice = random.Random(seed)
    lines = page.splitlines()
    samples = [k for k, line in enumerate(lines) if line and line[0] != "#"]
    return [_scrape(lines, samples, number, new_share, dice) for number in range(count)]


def _scrape(lines: list[str], samples: list[int], number: int, new_share: float, dice: random.Random) -> bytes:
    """The next page; ``lines`` keep its new series, as a server keeps those of a new worker."""
    for k in dice.sample([k for k in samples if "{" in lines[k]], round(new_share * len(samples))):
        lines[k] = re.sub(r'="([^".]*)[^"]*"', rf'="\1.{number}.{k}"', lines[k], count=1)
    for k in samples:
        lines[k] = f"{lines[k].rpartition(' ')[0]} {dice.random() * 1e6 + number}"
    return ("\n".join(lines) + "\n").encode()


def measured(pages: list[bytes]) -> tuple[float, float, int]:
    """CPU seconds of ours and of theirs, page by page in turn so that noise meets both, and the samples read."""
    parser = PageParser()
    parser.parse(pages[0])
    own = other = 0.0
    samples = 0
    for page in pages[1:]:
        start = time.process_time()
        read = len(parser.parse(page).ids)
        middle = time.process_time()
        theirs = sum(len(family.samples) for family in text_string_to_metric_families(page.decode()))
        own += middle - start
        other += time.process_time() - middle
        assert read == theirs, "the two parsers read different numbers of samples"
        samples += read
    return own, other, samples


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scrapes", type=int, default=20)
    options.add_argument("--page", type=Path, default=SHARED / "samples/ray-2.60/metrics_18080.txt")
    given = options.parse_args()
    pages = scrapes(given.page.read_text(), given.scrapes + 1)
    runs = [measured(pages) for _ in range(3)]
    own, other, samples = min(run[0] for run in runs), min(run[1] for run in runs), runs[0][2]
    figures = {
        "samples": samples,
        "whystall_samples_per_cpu_s": round(samples / own),
        "prometheus_client_samples_per_cpu_s": round(samples / other),
        "ratio": round(other / own, 1),
        "ms_per_page": round(own / given.scrapes * 1e3, 3),
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
