import msgspec
import pytest

import shown
from whystall.model.configuration import Configuration
from whystall.pipeline import states_of
from whystall.remedies.whatif import asked_of
from whystall.remedies.whatif.controls import assumptions, controls


@pytest.fixture(scope="module")
def configuration() -> Configuration:
    return states_of(shown.recording("seq_cap"))[0].configuration


def test_whole_numbers_are_halved_and_doubled_around_the_value_in_force(configuration):
    found = {one.id: one for one in controls(configuration)}
    assert found["max_num_seqs"].now == "16"
    assert found["max_num_seqs"].values == ("2", "4", "8", "16", "32", "64", "128")


def test_what_is_in_force_is_always_among_the_values_and_shares_stay_below_one(configuration):
    for one in controls(configuration):
        if one.kind in ("whole", "number"):
            assert one.now in one.values
            assert list(one.values) == sorted(one.values, key=float)
    shares = next(one for one in controls(configuration) if one.id == "gpu_memory_utilization").values
    assert 0.4 < float(shares[0]) < float(shares[-1]) <= 1


def test_switches_and_choices(configuration):
    found = {one.id: one for one in controls(configuration)}
    assert found["enforce_eager"].values == ("true", "false")
    assert "fp8" in found["kv_cache_dtype"].values


def test_a_server_of_which_nothing_is_known_gets_common_values_for_what_matters_most():
    unknown = [one.id for one in controls(Configuration()) if one.kind in ("whole", "number") and not one.now]
    assert unknown == ["max_num_seqs", "max_num_batched_tokens"]


def test_a_flag_that_the_version_lacks_is_not_shown(configuration):
    old = msgspec.structs.replace(configuration, version="0.1.0")
    assert len(controls(old)) < len(controls(configuration))


def test_every_assumption_can_be_asked():
    for one in assumptions():
        assert one.now in one.values
        assert asked_of((), [f"{one.id}={value}" for value in one.values[:1]]).assume
