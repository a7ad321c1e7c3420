import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.profiles.chrome_events import DecodeCounts, decode_each, decode_event, decode_events, repaired

RAW = '{"ph": "X", "cat": "kernel", "name": "NAME", "pid": 0, "tid": 7,\n "ts": 1.5, "dur": 2, "args": {"device": 1}}'


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30).filter(lambda name: '", "' not in name))
def test_any_name_survives_without_escapes(name: str) -> None:
    text = RAW.replace("NAME", name.replace("\\", "")).encode()
    event = decode_event(text, False, DecodeCounts())
    assert event is not None
    assert event.name == name.replace("\\", "")
    assert (event.ts, event.dur, event.args.device) == (1.5, 2, 1)


def test_a_valid_event_is_not_touched() -> None:
    text = RAW.replace("NAME", 'a \\"b\\" \\u0041').encode()
    assert repaired(text) == text
    counts = DecodeCounts()
    assert [event.name for event in decode_each([text, b"no"], False, counts)] == ['a "b" A']
    assert (counts.repaired, counts.rejected, counts.first_rejected) == (0, 1, "no")


def test_times_are_kept_as_text_when_asked() -> None:
    (event,) = decode_events(f"[{RAW}]".encode(), "kernel", exact=True) or []
    assert (bytes(event.ts), bytes(event.dur)) == (b"1.5", b"2")


def test_a_kind_takes_no_other_category() -> None:
    assert decode_events(f"[{RAW}]".encode(), "launch", exact=False) is None
    assert decode_events(b"[{]", "", exact=False) is None


@pytest.mark.parametrize("exact", [False, True])
def test_nan_and_wrong_types(exact: bool) -> None:
    raw = json.dumps({"ph": "X", "cat": "kernel", "name": 5, "tid": "stream 7", "ts": float("nan"), "args": [1]})
    event = decode_event(raw.encode(), exact, DecodeCounts())
    assert event is not None
    assert (event.name, event.tid, event.args.correlation) == ("5", "stream 7", -1)
    assert bytes(event.ts) == b"NaN" if exact else event.ts != event.ts


def test_deep_nesting_is_rejected_not_fatal() -> None:
    counts = DecodeCounts()
    assert decode_event(b'{"args": ' + b"[" * 100_000, False, counts) is None
    assert counts.rejected == 1
    assert msgspec.json.decode(b"1") == 1
