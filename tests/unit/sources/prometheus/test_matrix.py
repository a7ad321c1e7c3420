import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import NotMetrics
from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.prometheus.matrix import Buckets, Samples, Series, columns_of, servers


def series(name: str, *values: tuple[float, str], instance: str = "a:1", **labels: str) -> Series:
    metric = {"__name__": name, "instance": instance, "job": "vllm", **labels}
    return Series(raw(metric), raw(list(values)))


def raw(data: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(data))


def tables(*pieces: list[Series]) -> dict[str, SeriesTable]:
    samples = Samples()
    for piece in pieces:
        samples.gather(piece)
    return servers(samples)


def test_a_table_for_each_instance_with_its_own_times() -> None:
    found = tables(
        [series("x", (1.0, "1"), (2.0, "2")), series("x", (1.5, "7"), instance="b:1"), series("y", (2.0, "5"))]
    )
    assert list(found) == ["a:1", "b:1"]
    assert found["a:1"].times.tolist() == [1.0, 2.0]
    assert found["a:1"].keys == (SeriesKey("x"), SeriesKey("y"))
    np.testing.assert_array_equal(found["a:1"].values, [[1, 2], [np.nan, 5]])
    assert found["b:1"].values.tolist() == [[7.0]]


def test_pieces_that_overlap_are_one() -> None:
    """A range selector of Prometheus 2 has both its ends, so a sample on the seam comes twice."""
    table = tables(
        [series("x", (1.0, "1"), (2.0, "2"))], [series("x", (2.0, "2"), (3.0, "4")), series("y", (3.0, "1"))]
    )["a:1"]
    assert table.times.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(table.values, [[1, 2, 4], [np.nan, np.nan, 1]])


def test_a_stale_series_was_not_there() -> None:
    table = tables([series("x", (1.0, "1"), (2.0, "NaN"), (3.0, "3")), series("y", (2.0, "1"))])["a:1"]
    np.testing.assert_array_equal(table.values[0], [1, np.nan, 3])


def test_failed_scrapes_are_told_by_up() -> None:
    table = tables([series("up", (1.0, "1"), (2.0, "0")), series("x", (1.0, "1"))])["a:1"]
    assert [failed.t for failed in table.failed] == [2.0]
    assert [key.name for key in table.keys] == ["x"]


def test_native_histograms_become_classic_ones() -> None:
    native = Buckets("5", "1.5", [(0, "0.25", "0.5", "3"), (0, "0.125", "0.25", "2")])
    metric = raw({"__name__": "h", "instance": "a", "engine": "0"})
    table = tables([Series(metric, histograms=[(1.0, native)])])["a"]
    found = {(key.name, key.label("le")): value for key, value in zip(table.keys, table.values[:, 0], strict=True)}
    assert found == {
        ("h_bucket", "0.25"): 2,
        ("h_bucket", "0.5"): 5,
        ("h_bucket", "+Inf"): 5,
        ("h_sum", ""): 1.5,
        ("h_count", ""): 5,
    }


@given(st.lists(st.tuples(st.integers(0, 30), st.text(max_size=5)), max_size=20))
def test_no_text_of_a_sample_is_a_fault(values: list[tuple[int, str]]) -> None:
    for table in tables([series("x", *((float(t), text) for t, text in values))]).values():
        assert np.isfinite(table.values).any(axis=1).all()


@given(st.lists(st.tuples(st.floats(0, 2e9), st.floats(allow_nan=True, allow_infinity=True)), max_size=20))
def test_columns_are_what_single_samples_would_be(values: list[tuple[float, float]]) -> None:
    times, found = columns_of(msgspec.json.encode([(t, repr(value)) for t, value in values]))
    kept = [(t, value) for t, value in values if np.isfinite(value)]
    assert times.tolist() == [t for t, _ in kept]
    assert found.tolist() == [value for _, value in kept]


@given(st.recursive(st.none() | st.floats(0, 9) | st.text(max_size=3), st.lists, max_leaves=12))
def test_other_json_is_refused_by_name_or_read(data: object) -> None:
    text = msgspec.json.encode(data)
    try:
        times, values = columns_of(text)
    except NotMetrics:
        return
    assert len(times) == len(values)


@pytest.mark.parametrize("metric", [b"[]", b'{"a": 1}', b"7"])
def test_a_series_without_labels_is_refused(metric: bytes) -> None:
    with pytest.raises(NotMetrics, match="no labels"):
        Samples().gather([Series(msgspec.Raw(metric))])
