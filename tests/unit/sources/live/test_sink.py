"""A sink in front of another one hands everything on but what comes from elsewhere."""

import inspect

import pytest

from whystall.sources.live.sink import Partial, Sink

EVERY = [name for name, _ in inspect.getmembers(Sink, inspect.isfunction) if not name.startswith("_")]


class Heard(Sink):
    """Notes which of its methods were called, whichever there are."""

    def __init__(self):
        self.calls = []


for name in EVERY:
    setattr(Heard, name, lambda self, *given, name=name: self.calls.append((name, given)))


def sent(sink, name):
    given = range(len(inspect.signature(getattr(Sink, name)).parameters) - 1)
    getattr(sink, name)(*given)
    return (name, tuple(given))


@pytest.mark.parametrize("name", EVERY)
def test_everything_is_handed_on(name):
    heard = Heard()
    assert [sent(Partial(heard, gpu=True, host=True), name)] == heard.calls


@pytest.mark.parametrize("name", ["gpu", "host"])
def test_but_what_comes_from_elsewhere(name):
    heard = Heard()
    sent(Partial(heard, gpu=name != "gpu", host=name != "host"), name)
    assert heard.calls == []
