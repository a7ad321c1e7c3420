import numpy as np

from whystall.service import window as module
from whystall.service.window import Window
from whystall.sources.exposition import PageParser


def fed(*pages: tuple[float, str], parser: PageParser | None = None, window: Window | None = None) -> Window:
    parser, window = parser or PageParser(), window or Window()
    for t, text in pages:
        window.add(t, parser.parse(text.encode()), parser.keys)
    return window


def test_pages_become_a_table_with_holes_where_a_series_is_missing():
    table = fed((1, "a 1\n"), (2, "a 2\nb 5\n")).table()
    assert [key.name for key in table.keys] == ["a", "b"]
    np.testing.assert_array_equal(table.values, [[1, 2], [np.nan, 5]])


def test_pages_of_two_connections_are_put_on_one_list():
    window = fed((1, "a 1\nb 2\n"))
    fed((2, "b 3\na 4\n"), window=window)
    table = window.table()
    assert {key.name: row.tolist() for key, row in zip(table.keys, table.values, strict=True)} == {
        "a": [1, 4],
        "b": [2, 3],
    }


def test_what_is_old_goes_with_its_series():
    window = fed((1, "a 1\n"), (2, "b 1\n"), (3, "b 2\n"))
    window.fail(1.5, "Unreachable")
    window.forget(2)
    assert [key.name for key in window.table().keys] == ["b"]
    assert window.table().failed == ()
    assert window.last == 3


def test_a_page_from_before_is_left_out():
    assert fed((5, "a 1\n"), (4, "a 2\n")).table().times.tolist() == [5]


def test_a_server_with_very_many_series_keeps_fewer_pages(monkeypatch):
    monkeypatch.setattr(module, "MOST_SAMPLES", 50)
    page = "".join(f"a{n} 1\n" for n in range(20))
    assert fed(*((t, page) for t in range(10))).table().times.tolist() == [8, 9]


def test_an_empty_window_is_an_empty_table():
    assert len(Window().table().times) == 0


def test_a_network_of_which_little_is_known_may_lose_pages():
    """One scrape in ten is put beside those that were seen; what failed many times in a row was no single loss."""
    assert Window().lost_singly(0, 3) == 0.1
    seen = fed(*((t, "a 1\n") for t in range(90)))
    assert seen.lost_singly(90, 3) == 0.01
    for t in (20.5, 40.5, 60.1, 60.2, 60.3):
        seen.fail(t, "Unreachable")
    assert seen.lost_singly(90, 3) == 3 / 102
