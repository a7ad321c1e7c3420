import shlex

import pytest

from whystall.profiles.capture import TOOLS, Facts, capture, sampling, sampling_note, start_arguments


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_says_what_to_run_and_how_to_read_it(tool) -> None:
    found = capture(tool, Facts())
    assert found.tool == tool
    assert found.read.startswith("whystall trace ")
    for command in found.commands:
        assert shlex.split(command, comments=True) or command.startswith("#")
    assert found.shows.zh != found.shows.en


def test_a_server_with_a_profiler_needs_no_restart() -> None:
    found = capture("torch", Facts(profiler="torch", steps=30))
    assert not found.restart
    assert '{"max_iterations": 30}' in found.commands[0]
    assert found.commands[-1].endswith("/stop_profile")
    assert capture("torch", Facts()).restart


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.12.1", "VLLM_TORCH_PROFILER_DIR="),
        ("0.13.0", "--profiler-config"),
        ("0.32.0", "--profiler-config"),
        ("", "--profiler-config"),
    ],
)
def test_the_form_of_the_servers_version(version: str, expected: str) -> None:
    assert expected in start_arguments(Facts(version=version))


def test_what_goes_into_a_shell_is_quoted() -> None:
    found = capture("torch", Facts(address="http://h/$(touch x)", folder="/tmp/a b;c", profiler="torch"))
    assert "'http://h/$(touch x)'/start_profile" in found.commands[0]
    assert "'/tmp/a b;c'/*" in found.read


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "100.00%"),
        ({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}, None),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}, "50.00%"),
        ({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio"}, "100.00%"),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, None),
        ({"OTEL_TRACES_SAMPLER": "parentbased_always_on"}, "100.00%"),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "much"}, None),
    ],
)
def test_one_to_five_per_cent_of_requests(environment: dict[str, str], told: str | None) -> None:
    note = sampling_note(sampling(environment))
    assert (note is None) == (told is None)
    if note is not None:
        assert note.en.startswith(f"{told} of requests")


def test_nothing_known_of_sampling_is_nothing_said() -> None:
    assert sampling_note("") is None
    assert capture("spans", Facts(sampling="always")).notes != ()
