"""Containers as Compose lists them, in both of its forms."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import InputError
from whystall.trials.actuators.compose_containers import containers_in

ONE = {
    "Name": "p-vllm-1",
    "State": "running",
    "Health": "starting",
    "Labels": "a=b,com.docker.compose.config-hash=c0ffee",
    "Publishers": [{"URL": "", "TargetPort": 8000, "PublishedPort": 0}, {"PublishedPort": 32768, "TargetPort": 8000}],
    "Unknown": {"later": 1},
}


def test_an_array_and_an_object_a_line_are_the_same():
    lines = "\n".join([json.dumps(ONE), json.dumps({"Name": "p-vllm-2", "Publishers": None})])
    array = json.dumps([ONE, {"Name": "p-vllm-2", "Publishers": None}])
    assert containers_in(lines.encode()) == containers_in(array.encode())
    first, second = containers_in(lines.encode())
    assert (first.port, first.made_from, first.tells) == (32768, "c0ffee", True)
    assert (second.port, second.made_from, second.tells) == (0, "", False)
    assert containers_in(b"") == ()


@pytest.mark.parametrize(
    ("state", "health", "code", "ok", "oom"),
    [
        ("running", "healthy", 0, True, False),
        ("running", "unhealthy", 0, False, False),
        ("exited", "", 1, False, False),
        ("exited", "", 137, False, True),
    ],
)
def test_docker_s_own_word_settles_it(state, health, code, ok, oom):
    (one,) = containers_in(json.dumps([{**ONE, "State": state, "Health": health, "ExitCode": code}]).encode())
    ready = one.readiness()
    assert (ready.ok, ready.oom) == (ok, oom)


def test_one_that_is_starting_is_waited_for():
    assert containers_in(json.dumps([ONE]).encode())[0].readiness() is None


@given(st.binary(max_size=200))
def test_whatever_docker_prints_is_read_or_refused_by_name(out):
    with suppress(InputError):
        assert all(container.name is not None for container in containers_in(out))
