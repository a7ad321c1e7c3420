import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import SeriesKey
from whystall.sources.prometheus.matrix import Buckets, Samples, Series, gather, servers


def series(name: str, *values: tuple[float, str], instance: str = "a:1", **labels: str) -> Series:
    return Series({"__name__": name, "instance": instance, "job": "vllm", **labels}, list(values))


def test_a_table_for_each_instance_with_its_own_times() -> None:
    samples: Samples = {}
    gather(
        [series("x", (1.0, "1"), (2.0, "2")), series("x", (1.5, "7"), instance="b:1"), series("y", (2.0, "5"))], samples
    )
    tables = servers(samples)
    assert list(tables) == ["a:1", "b:1"]
    assert tables["a:1"].times.tolist() == [1.0, 2.0]
    assert tables["a:1"].keys == (SeriesKey("x"), SeriesKey("y"))
    np.testing.assert_array_equal(tables["a:1"].values, [[1, 2], [np.nan, 5]])
    assert tables["b:1"].values.tolist() == [[7.0]]


def test_a_stale_series_was_not_there() -> None:
    samples: Samples = {}
    gather([series("x", (1.0, "1"), (2.0, "NaN"), (3.0, "3")), series("y", (2.0, "1"))], samples)
    np.testing.assert_array_equal(servers(samples)["a:1"].values[0], [1, np.nan, 3])


def test_failed_scrapes_are_told_by_up() -> None:
    samples: Samples = {}
    gather([series("up", (1.0, "1"), (2.0, "0")), series("x", (1.0, "1"))], samples)
    table = servers(samples)["a:1"]
    assert [failed.t for failed in table.failed] == [2.0]
    assert [key.name for key in table.keys] == ["x"]


def test_native_histograms_become_classic_ones() -> None:
    native = Buckets("5", "1.5", [(0, "0.25", "0.5", "3"), (0, "0.125", "0.25", "2")])
    samples: Samples = {}
    gather([Series({"__name__": "h", "instance": "a", "engine": "0"}, histograms=[(1.0, native)])], samples)
    table = servers(samples)["a"]
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
    samples: Samples = {}
    gather([series("x", *((float(t), text) for t, text in values))], samples)
    for table in servers(samples).values():
        assert np.isfinite(table.values).any(axis=1).all()
