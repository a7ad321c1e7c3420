"""Pages over time to one table."""

import numpy as np

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
