import pytest

from whystall.model.configuration import Configuration
from whystall.remedies.relation import at_most, divides, product_at_most
from whystall.remedies.setup import Setup


def setup(**flags):
    return Setup(Configuration(flags={"model": "m", **flags}))


def test_one_side_at_most_the_other():
    check = at_most("max_loras", "max_cpu_loras")
    assert check(setup(max_loras="4", max_cpu_loras="2")) is True
    assert check(setup(max_loras="2", max_cpu_loras="2")) is False
    assert check(setup(max_loras="2")) is None
    assert check(setup(max_cpu_loras="1")) is False  # vLLM picks the other side so that it fits


@pytest.mark.parametrize(("heads", "broken"), [(32, False), (30, True), (None, None)])
def test_a_divisor(heads, broken):
    found = Setup(Configuration(flags={"tp": "4"}), facts={"heads": heads} if heads else {})
    assert divides("tp", "heads")(found) is broken


def test_a_product_within_what_is_there():
    check = product_at_most(("tp", "pp"), "gpus")
    assert check(Setup(Configuration(flags={"tp": "4", "pp": "2"}), facts={"gpus": 4})) is True
    assert check(Setup(Configuration(flags={"tp": "4"}), facts={"gpus": 4})) is False
    assert check(setup(tp="4")) is None
