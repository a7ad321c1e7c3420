import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.hardware.joined import joined
from whystall.sources.host import CgroupRow, HostRow, host_columns


@given(st.lists(st.integers(0, 50), max_size=20), st.lists(st.integers(0, 50), max_size=20))
def test_no_row_twice_and_none_lost(first, second):
    a = gpu_columns([GpuRow(t=float(t), power_w=float(t)) for t in sorted(first)])
    b = gpu_columns([GpuRow(t=float(t), power_w=float(t)) for t in sorted(second)])
    found = joined(a, b, 1000.0)
    expected = sorted(first) + [t for t in sorted(second) if not first or t > max(first)]
    assert ([] if found is None else found.power_w.tolist()) == expected
    assert found is None or len(found.name) == len(found.t) == len(found.throttle_reasons)


def test_a_column_that_one_lacks_was_not_seen_there():
    a = host_columns([HostRow(t=1.0, loadavg=(1.0,))])
    b = host_columns([HostRow(t=2.0, loadavg=(2.0,), cgroup=CgroupRow(throttled_s=3.0))])
    found = joined(a, b, 1000.0)
    assert found is not None
    assert found.throttled_s is not None
    assert np.isnan(found.throttled_s[0])
    assert found.throttled_s[1] == 3.0
    assert found.load1.tolist() == [1.0, 2.0]


def test_the_oldest_go():
    a = gpu_columns([GpuRow(t=float(t)) for t in range(100)])
    found = joined(a, gpu_columns([GpuRow(t=100.0)]), 10.0)
    assert found is not None
    assert found.t.tolist() == [float(t) for t in range(90, 101)]
