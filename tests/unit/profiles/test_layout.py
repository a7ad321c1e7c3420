from chrome_trace import document, kernel, render
from whystall.profiles.layout import KINDS, learn

EVENTS = [kernel("a", 1, 1), kernel("b", 2, 1)]


def test_the_separator_is_what_the_writer_puts_between() -> None:
    layout = learn(render(document(EVENTS), "compact").partition(b"[")[2], KINDS)
    assert layout is not None
    assert layout.separator == b'}, {"ph": "'
    assert layout.kinds[b'X", "cat": "kernel'] == "kernel"
    assert layout.kinds[b'i", "cat": "cpu_in'] == "instant"
    assert layout.key_bytes == len(b'X", "cat": "kernel')


def test_the_profilers_own() -> None:
    layout = learn(render(document(EVENTS)).partition(b"[")[2], KINDS)
    assert layout is not None
    assert layout.separator == b'},\n  {\n    "ph": "'


def test_sorted_keys_have_no_such_layout() -> None:
    assert learn(render(document(EVENTS), "sorted"), KINDS) is None
    assert learn(b"", KINDS) is None
