from whystall.model.recording import LogLine
from whystall.sources.starts import MOST_STARTS, since, starts

ARGS = "non-default args: {'model': 'm', 'max_num_seqs': 8}"


def lines(*pairs: tuple[float | None, str]) -> list[LogLine]:
    return [LogLine(t, "INFO", "EngineCore", 1, text) for t, text in pairs]


FIRST = lines(
    (10.0, ARGS),
    (12.0, "Initializing a V1 LLM engine (v0.32.0) with config: model='m'"),
    (20.0, "Model loading took 14.96 GiB memory and 7.500000 seconds"),
    (24.0, "torch.compile took 3.00 s in total"),
    (30.0, "init engine (profile, create kv cache, warmup model) took 9.00 s"),
    (None, "Application startup complete."),
)


def test_what_a_start_says_of_itself() -> None:
    (found,) = starts(FIRST, 100.0)
    assert (found.begun, found.ready, found.version) == (10.0, 30.0, "0.32.0")
    assert found.flags == {"model": "m", "max_num_seqs": "8"}
    assert (found.loading_s, found.compile_s, found.init_s, found.phase) == (7.5, 3.0, 9.0, "")


def test_a_start_that_is_not_ready_and_one_without_flags() -> None:
    log = FIRST + lines((50.0, "non-default args: {}"), (55.0, "Starting to load model m..."))
    second = starts(log, 100.0)[1]
    assert (second.ready, second.phase, second.flags) == (None, "load", {})
    assert [line.t for line in since(log, starts(log, 100.0))] == [50.0, 55.0]


def test_what_comes_after_the_end_is_not_known_yet() -> None:
    (found,) = starts(FIRST, 21.0)
    assert (found.ready, found.loading_s, found.phase) == (None, 7.5, "profile")
    assert starts(FIRST, 5.0) == ()


def test_a_log_without_starts_and_one_of_too_many() -> None:
    assert starts(lines((1.0, "x")), 9.0) == ()
    assert len(since(lines((1.0, "x")), ())) == 1
    assert len(starts(lines(*((float(t), ARGS) for t in range(MOST_STARTS + 50))), 1e9)) == MOST_STARTS
