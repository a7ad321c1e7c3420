from pathlib import Path

import numpy as np
import pytest

from conftest import recording_names
from servers import counter_page
from whystall.errors import MixedServers
from whystall.model.recording import SeriesTable
from whystall.sources.exposition import PageParser
from whystall.sources.files.metrics import read_metrics
from whystall.sources.live.mixed import find_mixed, require_one_server
from whystall.sources.table import TableBuilder


def table(pages: list[str]) -> SeriesTable:
    parser = PageParser()
    builder = TableBuilder(parser)
    for t, page in enumerate(pages):
        builder.add(float(t), parser.parse(page.encode()))
    return builder.table()


def server(first: float, start: float | None, length: int = 20) -> list[str]:
    return [counter_page(first + 10 * n, start=start) for n in range(length)]


def without_processes(found: SeriesTable) -> SeriesTable:
    rows = [k for k, key in enumerate(found.keys) if not key.name.startswith("process_")]
    return SeriesTable(found.times, tuple(found.keys[k] for k in rows), found.values[rows], found.types)


@pytest.mark.parametrize("turns", ["ab" * 10, "aabb" * 5, "aaaaabaaaa", "aaaabbbbbaaaaaa"])
@pytest.mark.parametrize("starts", [(100.0, 200.0), (None, None)])
def test_pages_of_two_servers(turns: str, starts: tuple[float | None, float | None]) -> None:
    served = {"a": iter(server(1e6, starts[0])), "b": iter(server(5e3, starts[1]))}
    found = table([next(served[letter]) for letter in turns])
    mixed = find_mixed(found)
    assert mixed is not None
    assert mixed.servers == 2
    assert mixed.starts == ((100.0, 200.0) if starts[0] else ())
    with pytest.raises(MixedServers) as caught:
        require_one_server(found, "http://lb:80")
    assert "http://lb:80" in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("starts", [(100.0, 200.0), (None, None)])
def test_a_restart_is_one_server(starts: tuple[float | None, float | None]) -> None:
    assert find_mixed(table(server(1e6, starts[0]) + server(0, starts[1]))) is None


@pytest.mark.parametrize("starts", [(1.0, 2.0, 3.0), (None, None, None)])
def test_so_are_restarts_soon_after_another(starts: tuple[float | None, ...]) -> None:
    assert find_mixed(table([page for start in starts for page in server(0, start, 6)])) is None


def test_a_young_server_that_restarts_and_gets_the_same_request_again() -> None:
    assert find_mixed(table([counter_page(tokens) for tokens in (0, 100, 100, 0, 0, 100, 100)])) is None


def test_nothing_and_a_single_page() -> None:
    assert find_mixed(SeriesTable.empty()) is None
    assert find_mixed(table(server(0, None, 1))) is None


@pytest.mark.parametrize("name", recording_names())
def test_no_real_server_is_mixed_not_even_one_that_begins_again(shared: Path, name: str) -> None:
    found = read_metrics(shared / "recordings" / name / "metrics.prom.gz").table
    assert find_mixed(found) is None
    bare = without_processes(found)
    assert find_mixed(bare) is None
    twice = SeriesTable(np.arange(2 * len(bare.times)), bare.keys, np.hstack([bare.values, bare.values]), bare.types)
    assert find_mixed(twice) is None


def test_two_real_servers_in_turn(shared: Path) -> None:
    tables = [read_metrics(shared / "recordings" / name / "metrics.prom.gz").table for name in ("healthy", "seq_cap")]
    keys = tuple(set(tables[0].keys) & set(tables[1].keys))
    rows = [[one.keys.index(key) for key in keys] for one in tables]
    length = min(len(one.times) for one in tables)
    values = np.empty((len(keys), length))
    for at in range(length):
        values[:, at] = tables[at % 2].values[rows[at % 2], at]
    found = SeriesTable(np.arange(float(length)), keys, values)
    for each in (found, without_processes(found)):
        mixed = find_mixed(each)
        assert mixed is not None
        assert mixed.turns >= length - 5


@pytest.mark.parametrize("start", [1e308, -1796000000.0, float("inf"), float("nan")])
def test_a_start_that_no_process_has_is_not_a_second_server(start: float) -> None:
    pages = server(0, 100.0)
    pages[7] = counter_page(70, start=start)
    require_one_server(table(pages), "a damaged recording")
