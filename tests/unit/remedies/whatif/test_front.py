"""The front end's part of a TTFT is in the runs once, and grows with the tokens that are handed out."""

import msgspec
import numpy as np
import pytest

from whystall.pipeline import diagnose, states_of
from whystall.remedies.whatif.front import handed_out, settled
from whystall.remedies.whatif.play import draws_of, runs
from whystall.remedies.whatif.subject import subject_of
from whystall.remedies.whatif.variant import Variant
from whystall.sources.files.recording import read_recording
from whystall.state.histograms import mean_of


@pytest.fixture(scope="module")
def subject(request):
    folder = request.config.rootpath / "tests" / "data" / "recordings" / "seq_cap"
    recording = read_recording(folder)
    return subject_of(diagnose(recording).diagnosis, states_of(recording)[0])


@pytest.fixture(scope="module")
def played(subject):
    draws = draws_of(subject, 3)
    return draws, list(runs(subject, Variant(subject.options), draws))


def with_cores(subject, cores):
    state = msgspec.structs.replace(subject.state, api_cores=np.full_like(subject.state.api_cores, cores))
    return msgspec.structs.replace(subject, case=msgspec.structs.replace(subject.case, state=state))


def with_ttft(subject, measured):
    """The server without a queue, whose TTFT is ``measured``."""
    queue = msgspec.structs.replace(subject.state.queue, sum=np.zeros_like(subject.state.queue.sum))
    state = msgspec.structs.replace(subject.state, queue=queue)
    case = msgspec.structs.replace(subject.case, state=state)
    return msgspec.structs.replace(subject, case=case, now={**subject.now, "ttft_mean": measured})


def test_what_the_runs_have_themselves_is_no_front_end(subject, played):
    draws, figures = played
    slow = [
        msgspec.structs.replace(draw, profile=msgspec.structs.replace(draw.profile, front_s=0.05)) for draw in draws
    ]
    emulated = float(np.median([f.metrics["ttft_mean"] for f in runs(subject, Variant(subject.options), slow)]))
    left = settled(with_ttft(subject, emulated - 0.03), slow)
    assert [draw.profile.front_s for draw in left] == pytest.approx([0.02] * 3)
    assert settled(with_ttft(subject, emulated + 0.03), slow) == slow
    assert len(figures) == 3


def test_a_queue_tells_nothing_of_the_front(subject, played):
    draws, _ = played
    assert mean_of(subject.state.queue, subject.inside) > 0.1
    assert settled(subject, draws) == draws


def more(subject, played, ratio, replicas=1):
    draws, figures = played
    times = [
        msgspec.structs.replace(f, metrics={**f.metrics, "tokens_per_s": f.metrics["tokens_per_s"] * ratio})
        for f in figures
    ]
    found = list(handed_out(subject, replicas, draws, figures, times))
    return [b.metrics["ttft_mean"] - a.metrics["ttft_mean"] for a, b in zip(figures, found, strict=True)]


def test_more_tokens_keep_its_thread_from_who_comes(subject, played):
    busy = with_cores(subject, 0.3)
    twice, thrice = more(busy, played, 2.0), more(busy, played, 2.9)
    assert all(0 < a < b for a, b in zip(twice, thrice, strict=True))
    assert all(value <= 0 for value in more(busy, played, 0.5))
    # As many tokens over two servers are half as many to each.
    assert more(busy, played, 2.0, replicas=2) == pytest.approx([0.0] * 3)


@pytest.mark.parametrize("cores", [float("nan"), 0.0, 1.7])
def test_what_was_not_seen_or_is_no_single_thread_changes_nothing(subject, played, cores):
    assert more(with_cores(subject, cores), played, 3.0) == [0.0] * 3
