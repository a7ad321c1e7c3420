import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import UsageError
from whystall.model.slo import EXAMPLE, Slo


def test_reads_all_parts() -> None:
    assert Slo.parse(EXAMPLE) == Slo(ttft_p95_s=1.0, itl_p95_s=0.05, e2e_p95_s=10.0, errors_ratio=0.001)


def test_reads_some_parts_in_any_order_and_spacing() -> None:
    assert Slo.parse(" errors = 0.01 , TTFT_P95 = 800ms ,") == Slo(ttft_p95_s=0.8, errors_ratio=0.01)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "empty"), (",", "empty"), ("ttft_p95", "ttft_p95"), ("ttft_p95=", "ttft_p95: .*not a length"),
        ("itl_p95=0", "itl_p95: .*no time at all"), ("tftt_p95=1s", "tftt"),
        ("itl_p95=fast", "fast"), ("errors=200%", "200%"), ("errors=-1", "-1"), ("errors=nan", "nan"),
        ("errors=x", "x"), ("e2e_p95=1s,e2e_p95=2s", "twice"),
    ],
)  # fmt: skip
def test_refuses_by_name(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        Slo.parse(text)
    assert caught.value.hint


def test_hints_at_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        Slo.parse("tftt_p95=1s")
    assert "ttft_p95" in caught.value.hint


bounds = st.none() | st.floats(min_value=1e-3, max_value=1e5).map(lambda x: round(x, 6))


@given(bounds, bounds, bounds, st.floats(min_value=0, max_value=1).map(lambda x: round(x, 6)))
def test_what_it_writes_it_reads(ttft: float | None, itl: float | None, e2e: float | None, errors: float) -> None:
    slo = Slo(ttft, itl, e2e, errors)
    assert Slo.parse(str(slo)) == slo
