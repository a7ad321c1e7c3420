from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import LogLine
from whystall.service import kept_log
from whystall.service.kept_log import KeptLog

AT = 1_796_025_600.0  # 2026-11-30 08:00 UTC
ARGS = "(APIServer pid=1) INFO 11-30 {time} [utils.py:1] non-default args: {{'max_num_seqs': {seats}}}\n"


def line(t, text, level="INFO"):
    return LogLine(t, level, "", None, text)


def test_lines_come_in_pieces_and_get_the_zone_of_the_writing():
    log = KeptLog()
    text = b"INFO 11-30 16:00:00 [a.py:1] one\nINFO 11-30 16:00:01 [a.py:1] two\n"  # written at 08:00 UTC, in China
    for at in range(len(text)):
        log.take(text[at : at + 1], AT + 2)
    assert [(one.t, one.text) for one in log.since(AT)] == [(AT, "one"), (AT + 1, "two")]


def test_the_last_two_starts_stay_when_the_window_moves_on():
    log = KeptLog()
    for n in range(3):
        log.take(ARGS.format(time=f"08:0{n}:00", seats=n).encode(), AT + 60 * n)
    log.take(b"INFO 11-30 08:10:00 [a.py:1] late\n", AT + 600)
    log.forget(AT + 500)
    texts = [one.text for one in log.since(AT + 500)]
    assert [text for text in texts if "max_num_seqs" in text][-2:] == [
        "non-default args: {'max_num_seqs': 1}",
        "non-default args: {'max_num_seqs': 2}",
    ]
    assert texts[-1] == "late"


def test_lines_a_request_are_let_go_and_errors_are_loud():
    log = KeptLog()
    log.add([line(AT, '127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK')])
    assert not log
    assert not log.loud
    log.add([line(AT, "EngineCore failed", "ERROR")])
    assert log.loud


def test_a_file_without_line_ends_does_not_grow_in_memory():
    log = KeptLog()
    for _ in range(50):
        log.take(b"x" * 10_000, AT)
    assert not log
    assert len(log._half) <= 65_536


@given(st.lists(st.tuples(st.floats(0, 1000), st.booleans()), max_size=60), st.floats(0, 1000))
def test_each_line_comes_once_and_in_order(said, start):
    log = KeptLog()
    said.sort()
    lines = [line(t, f"args: Namespace({n})" if args else str(n)) for n, (t, args) in enumerate(said)]
    log.add(lines)
    found = log.since(start)
    places = [lines.index(one) for one in found]
    assert places == sorted(set(places))
    assert set(found) >= {one for one in lines if one.t >= start}


def test_the_memory_is_bounded(monkeypatch):
    log = KeptLog()
    log.add(line(AT + n, f"args: Namespace({n})" if n % 5000 == 0 else str(n)) for n in range(50_000))
    assert len(log.since(0)) <= kept_log.MOST_LINES + kept_log.STARTS * kept_log.START_LINES
