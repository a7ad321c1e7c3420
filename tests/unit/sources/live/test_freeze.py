from servers import counter_page
from whystall.sources.exposition import PageParser
from whystall.sources.live.freeze import FreezeWatch


def asked(samples: list[tuple[float, int]]) -> list[int]:
    """The seconds at which health is asked, for (tokens, running) at each second."""
    parser = PageParser()
    watch = FreezeWatch(parser.keys)
    pages = (parser.parse(counter_page(tokens, running).encode()) for tokens, running in samples)
    return [t for t, page in enumerate(pages) if watch.stands_still(t, page)]


def test_requests_in_flight_and_no_token_for_ten_seconds() -> None:
    assert asked([(5, 1)] * 35) == [10, 20, 30]


def test_an_idle_engine_does_not_stand_still() -> None:
    assert asked([(5, 0)] * 35) == []


def test_neither_does_one_that_gives_tokens_now_and_then() -> None:
    assert asked([(n // 8, 1) for n in range(35)]) == []


def test_the_time_counts_from_the_last_token() -> None:
    assert asked([(n, 1) for n in range(5)] + [(5, 1)] * 15) == [15]
