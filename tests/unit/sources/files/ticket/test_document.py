"""A ticket's file: bounded, without aliases, and without what somebody concluded."""

import pytest

from whystall.errors import InputError, TooLarge
from whystall.sources.files.ticket import is_ticket
from whystall.sources.files.ticket.document import MAX_BYTES, read_document


def written(tmp_path, text):
    path = tmp_path / "ticket.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_facts_are_kept_and_conclusions_are_not(tmp_path):
    path = written(
        tmp_path, "symptoms: {running: 3}\nengine: {name: vllm, version: 0.9.1}\nclass: oom\ncause: secret\n"
    )
    ticket = read_document(path)
    assert is_ticket(path)
    assert (ticket.version, ticket.symptoms) == ("0.9.1", {"running": 3})
    assert "secret" not in repr(ticket)
    assert "oom" not in repr(ticket)


@pytest.mark.parametrize(
    "text",
    ["- 1", "symptoms: 3", "a: &a [1]\nsymptoms: {b: *a}", "symptoms: {a: [", "!!python/object:os.system {}", ""],
)
def test_what_is_no_ticket_is_refused_by_name(tmp_path, text):
    with pytest.raises(InputError) as told:
        read_document(written(tmp_path, text))
    assert told.value.hint


def test_deep_and_large_files_are_refused(tmp_path):
    with pytest.raises(InputError):
        read_document(written(tmp_path, "symptoms: " + "[" * 5000 + "]" * 5000))
    with pytest.raises(TooLarge):
        read_document(written(tmp_path, "#" * (MAX_BYTES + 1)))
