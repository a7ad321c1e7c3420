from whystall.model.checkup import Check
from whystall.model.recording import SeriesKey
from whystall.model.text import Text
from whystall.sources.checkup.signals import signals

CACHE = (SeriesKey("vllm:cache_config_info"),)


def check(id: str, state: str = "ok") -> Check:
    return Check(id, state, Text(f"{id} {state}"), Text(f"get {id}"))  # type: ignore[arg-type]


def states(checks: tuple[Check, ...], keys: tuple[SeriesKey, ...] = (), config: bool = False) -> dict[str, str]:
    return {found.id: found.state for found in signals(checks, keys, config)}


def test_everything_there() -> None:
    checks = tuple(map(check, ("/metrics", "nvml", "processes", "log", "command line")))
    found = states(checks)
    assert found == {
        "metrics": "ok",
        "gpu": "ok",
        "host": "ok",
        "log": "ok",
        "config": "ok",
        "client": "missing",
        "spans": "missing",
    }


def test_gpus_of_another_machine_are_not_the_servers() -> None:
    found = states((check("/metrics"), check("nvml"), check("processes", "missing")))
    assert (found["gpu"], found["host"]) == ("missing", "missing")


def test_what_is_missing_says_what_gives_it() -> None:
    found = {s.id: s for s in signals((check("/metrics"), check("log", "failed")), (), False)}
    assert found["log"].how.en == "get log"
    assert "--log" in found["config"].how.en
    assert "requests.jsonl" in found["client"].how.en


def test_configuration_comes_from_many_places() -> None:
    assert states((), (), config=True)["config"] == "ok"
    assert states((check("log"),))["config"] == "ok"
    assert states((), CACHE)["config"] == "ok"
    assert states(())["config"] == "missing"
    page_only = next(s for s in signals((), CACHE, False) if s.id == "config")
    assert "inferred" in page_only.text.en
    assert page_only.how.en
