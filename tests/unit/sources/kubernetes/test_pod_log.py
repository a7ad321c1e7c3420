"""A log whose lines come in pieces, with stamps that sort only once their zeros are back."""

from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from fake_kubernetes import pod
from servers import http_server
from whystall.sources.kubernetes.pod_log import PodLog, _key
from whystall.sources.kubernetes.pods import pods_of
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

(POD,) = pods_of([pod("vllm-a")], "", 0, only_engines=False)


async def read(*answers: str, status: int = 200) -> list[tuple[bytes, float | None]]:
    left = list(answers)
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(dict(request.query))
        return web.Response(status=status, text=left.pop(0))

    async with http_server(handler) as base, Session(Address.parse(base)) as session:
        log = PodLog("/api/v1/namespaces/llm/pods/vllm-a", POD)
        found = [await log.more(session) for _ in answers]
    assert all(query["container"] == "engine" and query["timestamps"] == "true" for query in asked)
    return found


async def test_each_line_comes_once():
    first = "2026-11-30T08:00:00.9Z a\n2026-11-30T08:00:00.95Z b\n"
    found = await read(first, first + "2026-11-30T08:00:01Z c", first)
    assert found == [(b"a\nb\n", 1_796_025_600), (b"c\n", 1_796_025_601), (b"", None)]


async def test_what_is_no_log_has_no_lines():
    assert await read("2026-11-30T08:00:00Z a", status=400) == [(b"", None)]
    assert await read("<html>\n\xff nothing\n") == [(b"", None)]


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1))
def test_stamps_sort_as_the_times_do(a, b):
    def stamp(nanos: int) -> bytes:  # as Go writes it
        fraction = f".{nanos:09}".rstrip("0").rstrip(".")
        return f"2026-11-30T08:00:00{fraction}Z".encode()

    assert (_key(stamp(a)) < _key(stamp(b))) == (a < b)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_stamp_or_none(text):
    seconds, fraction = _key(text)
    assert (seconds == "") == (fraction == "")
