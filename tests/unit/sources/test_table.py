"""Pages over time to one table."""

import numpy as np
import pytest

from whystall.errors import TooLarge
from whystall.sources import table as table_module
from whystall.sources.exposition import PageParser
from whystall.sources.table import TableBuilder


def test_a_table_has_nan_where_a_series_was_absent():
    parser = PageParser()
    builder = TableBuilder(parser)
    builder.add(1.0, parser.parse(b"# TYPE a gauge\na 1\n"))
    builder.fail(2.0, "TimeoutError")
    builder.add(3.0, parser.parse(b"b 5\nb 6\na 2\n"))
    table = builder.table()
    assert [key.name for key in table.keys] == ["a", "b"]
    np.testing.assert_array_equal(table.values, [[1, 2], [np.nan, 6]])
    assert table.times.tolist() == [1.0, 3.0]
    assert (table.failed[0].t, table.failed[0].error) == (2.0, "TimeoutError")
    assert table.types == {"a": "gauge"}
    assert (len(builder), builder.duplicates) == (2, 1)


def test_a_table_over_several_blocks():
    parser = PageParser()
    builder = TableBuilder(parser)
    for k in range(600):
        builder.add(float(k), parser.parse(f"a {k}\n{'b 1' if k % 2 else 'c 2'}\n".encode()))
    table = builder.table()
    assert table.values[0].tolist() == list(range(600))
    np.testing.assert_array_equal(np.isnan(table.values[1]), np.arange(600) % 2 == 1)
    np.testing.assert_array_equal(table.values[2, 1::2], np.ones(300))


def test_what_does_not_fit_in_memory_is_refused(monkeypatch):
    parser = PageParser()
    builder = TableBuilder(parser)
    monkeypatch.setattr(table_module, "MAX_CELLS", 5)
    builder.add(1.0, parser.parse(b"a 1\nb 1\n"))
    builder.add(2.0, parser.parse(b"c 1\nd 1\n"))
    with pytest.raises(TooLarge, match="4 series in 2 scrapes"):
        builder.table()
    with pytest.raises(TooLarge, match="over 5 samples in 2 scrapes"):
        builder.add(3.0, parser.parse(b"c 1\nd 1\n"))
