"""A server that is away: how long, whether it starts, and why a start failed."""

import pytest

from scenes import evidence_of

ARGS = "non-default args: {'model': 'm'}"
AWAY = {"seconds": 40, "away": True}
CALM = {"seconds": 25}


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ([AWAY, CALM], "nothing answered for the first 41 s"),
        ([CALM, AWAY], "nothing has answered for the last 40 s"),
        ([CALM, AWAY, CALM], "the server was away for 41 s and started anew"),
    ],
)
def test_when_it_was_away(phases: list, said: str) -> None:
    found = evidence_of(*phases)["server.away"]
    assert found.text.en == said
    assert found.strength == 1.5


def test_a_server_that_answers() -> None:
    assert evidence_of(CALM)["server.away"].strength == -1.0


def test_a_first_page_with_tokens_is_of_a_server_that_ran_before() -> None:
    fresh = evidence_of(AWAY, CALM)["startup.fresh"]
    assert (fresh.value, fresh.strength) == (0.0, 1.0)
    ran = evidence_of(CALM, {"seconds": 1, "away": "unreachable"}, CALM)
    assert "startup.fresh" not in ran


def test_the_root_of_a_failed_start_goes_before_its_last_line() -> None:
    lines = [[30.0, "No available memory for the cache blocks. Try"], [31.0, "EngineCore failed to start."]]
    found = evidence_of(CALM, AWAY, log=lines)["startup.failed"]
    assert "no memory was left for the KV cache" in found.text.en
    assert found.strength == 1.5
    assert evidence_of(CALM, AWAY, log=[[1.0, "x"]])["startup.failed"].strength < 0


def test_memory_that_runs_out_while_serving_is_no_failed_start() -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."
    serving = [[0.0, ARGS], [1.0, "Application startup complete."], [20.0, oom]]
    assert evidence_of(CALM, AWAY, log=serving)["startup.failed"].value == 0
    starting = [[26.0, ARGS], [30.0, oom]]
    assert evidence_of(CALM, AWAY, log=starting)["startup.failed"].value == 1


@pytest.mark.parametrize(("loading", "sign"), [("38.5", 1), ("1.5", -1)])
def test_what_of_the_silence_was_loading(loading: str, sign: int) -> None:
    lines = [[0.0, ARGS], [39.0, f"Model loading took 14.96 GiB memory and {loading} seconds"]]
    lines.append([40.0, "Application startup complete."])
    found = evidence_of(AWAY, CALM, log=lines)["startup.loading"]
    assert found.value == pytest.approx(float(loading))
    assert found.strength * sign > 0
    assert "GB/s" in found.text.en


def test_a_start_that_is_not_ready_says_where_it_stands() -> None:
    found = evidence_of(CALM, AWAY, log=[[26.0, ARGS], [28.0, "Starting to load model m..."]])["startup.loading"]
    assert "the weights are read" in found.text.en
    assert found.strength > 1
