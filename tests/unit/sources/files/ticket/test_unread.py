"""What was not used is named."""

import pytest

from whystall.errors import TooLittleData
from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.read import ticket_recording
from whystall.sources.files.ticket.unread import unread, unread_text, unread_warnings


def test_names_that_mean_nothing_to_us():
    ticket = Ticket(symptoms={"tps": 3, "mood": "bad", "moon": {"phase": 3}, "with_lora": {"score": 1}})
    assert unread(ticket) == ("mood", "phase")
    (warning,) = unread_warnings(ticket, "t.yaml")
    assert "mood, phase" in warning.text.en
    assert unread_warnings(Ticket(symptoms={"tps": 3}), "t.yaml") == ()


def test_many_names_are_cut_short():
    assert unread_text(tuple("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"


def test_a_refusal_names_them_too():
    with pytest.raises(TooLittleData, match="not used: mood"):
        ticket_recording(Ticket(symptoms={"mood": "bad"}))
