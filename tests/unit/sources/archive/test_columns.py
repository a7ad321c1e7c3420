import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from whystall.errors import StoreDamaged
from whystall.sources.archive.columns import inflated, pack, pack_ids, pack_times, unpack, unpack_ids, unpack_times


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=30), elements=st.floats()))
def test_no_bit_is_lost(values):
    back = unpack(pack(values), *values.shape)
    np.testing.assert_array_equal(back.view(np.uint64), values.view(np.uint64))


@given(st.lists(st.integers(0, 2**31 - 1), max_size=50))
def test_numbers_come_back(ids):
    assert unpack_ids(pack_ids(np.array(ids, dtype=np.int64)), len(ids)).tolist() == ids


def test_times_come_back():
    times = np.array([1.5, 2.25, 1e9])
    assert unpack_times(pack_times(times), 3).tolist() == times.tolist()


def test_a_steady_counter_takes_hardly_any_room():
    values = np.arange(12_000.0).reshape(100, 120)
    assert len(pack(values)) < values.nbytes / 5


@pytest.mark.parametrize("data", [b"", b"nonsense", pack(np.zeros((1, 9)))])
def test_damage_is_named(data):
    with pytest.raises(StoreDamaged):
        unpack(data, 1, 8)


def test_a_bomb_is_not_blown_up():
    with pytest.raises(StoreDamaged, match="where 10"):
        inflated(pack(np.zeros((1000, 1000))), 10)
