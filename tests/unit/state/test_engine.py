"""From a described window to its state: what went in comes out, interval by interval."""

from typing import Any

import msgspec
import numpy as np
import pytest

from cases.window import recording_of
from whystall.model.configuration import Configuration, IterationColumns, LogEvent
from whystall.model.engine_state import EngineState
from whystall.model.recording import Health, Recording, SeriesTable
from whystall.state.engine import engine_states

PHASE = {"seconds": 20, "running": 8, "waiting": 3, "kv": 0.4, "rate": 2.0, "prompt": 500, "output": 100, "itl_ms": 10}


def state_of(recording: Recording, **given: Any) -> EngineState:
    (found,) = engine_states(recording, given.pop("configuration", Configuration()), **given)
    return found


def with_metrics(recording: Recording, **changed: Any) -> Recording:
    return msgspec.structs.replace(recording, metrics=msgspec.structs.replace(recording.metrics, **changed))


@pytest.fixture
def recording() -> Recording:
    return recording_of({"phases": [{**PHASE, "cached": 0.25, "preemptions": 0.5, "queue_s": 1.0}]})


def test_rates_and_gauges(recording: Recording) -> None:
    state = state_of(recording)
    assert (len(state.dt), state.seconds) == (20, 20.0)
    assert state.valid.all()
    assert np.allclose(state.generation_tokens, 800)
    assert np.allclose(state.prompt_tokens, 1000)
    assert np.allclose(state.computed_tokens, 750)  # a quarter came from the cache
    assert np.allclose(state.preemptions, 0.5)
    assert np.allclose(state.finished, 2.0)
    assert np.allclose(state.running_end, 8)
    assert np.allclose(state.waiting_end, 3)
    assert np.allclose(state.queue.sum / state.queue.count, 1.0)


def test_what_is_not_on_the_page_is_not_zero(recording: Recording) -> None:
    state = state_of(recording)
    assert np.isnan(state.cached_tokens).all()
    assert np.isnan(state.draft_tokens).all()
    assert (state.gpu, state.host, state.client, state.health_ok, state.process_age_s) == (None, None, None, None, None)
    assert state.signals == ("metrics",)


def test_constants_added_to_all_counters_change_nothing(recording: Recording) -> None:
    gauges = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "cache_config_info")
    raised = recording.metrics.values.copy()
    for row, key in enumerate(recording.metrics.keys):
        if not key.name.endswith(gauges):
            raised[row] += 1e6
    before, after = state_of(recording), state_of(with_metrics(recording, values=raised))
    assert np.allclose(before.generation_tokens, after.generation_tokens)
    assert np.allclose(before.ttft.counts, after.ttft.counts)


def test_a_restart_is_one_unusable_interval(recording: Recording) -> None:
    values = recording.metrics.values.copy()
    counters = [
        row
        for row, key in enumerate(recording.metrics.keys)
        if key.name.endswith(("_total", "_sum", "_count", "_bucket"))
    ]
    values[np.ix_(counters, range(10, 21))] -= values[counters, 10][:, None]
    state = state_of(with_metrics(recording, values=values))
    assert state.restarts == (10.0,)
    assert np.flatnonzero(~state.valid).tolist() == [9]
    assert np.isnan(state.generation_tokens[9])
    assert np.allclose(np.delete(state.generation_tokens, 9), 800)


def test_a_clock_that_steps_back_or_stands_gives_no_interval_of_its_own(recording: Recording) -> None:
    times = recording.metrics.times.copy()
    times[5] = times[4]
    state = state_of(with_metrics(recording, times=times))
    assert (state.dt > 0).all()
    assert np.nansum(state.generation_tokens) == pytest.approx(16000)


def test_scrapes_that_are_further_apart_give_the_same_rates(recording: Recording) -> None:
    thin = with_metrics(recording, times=recording.metrics.times[::5], values=recording.metrics.values[:, ::5])
    state = state_of(thin)
    assert state.dt.tolist() == [5.0] * 4
    assert np.allclose(state.generation_tokens / state.dt, 800)


def test_a_single_scrape_has_no_interval(recording: Recording) -> None:
    one = with_metrics(recording, times=recording.metrics.times[:1], values=recording.metrics.values[:, :1])
    state = state_of(one)
    assert (len(state.dt), state.seconds) == (0, 0.0)


def test_no_engine_on_the_page() -> None:
    empty = msgspec.structs.replace(recording_of({"phases": [PHASE]}), metrics=SeriesTable.empty())
    assert engine_states(empty, Configuration()) == []


def test_what_is_beside_the_page(recording: Recording) -> None:
    t = float(recording.metrics.times[0])
    beside = msgspec.structs.replace(recording, health=(Health(t, 503), Health(t + 5, 200)))
    column = np.arange(3.0)
    iterations = IterationColumns(t + column, ("000", "001", "000"), *(column for _ in range(6)))
    events = (LogEvent("profiler_start", t + 2, ""), LogEvent("old", t - 99, ""), LogEvent("undated", None, ""))
    state = state_of(beside, iterations=iterations, events=events, blocks={"0": 7.0})
    assert state.health_ok is True
    assert [event.id for event in state.events] == ["profiler_start", "undated"]
    assert state.iterations is not None
    assert state.iterations.engine == ("000", "000")
    assert state.limit_value("num_gpu_blocks") == 7
