"""A finished answer in other words, and who worded it."""

from __future__ import annotations

import msgspec

from .text import Text


class Wording(msgspec.Struct, frozen=True):
    """``text`` is in one language. ``by`` is the language model that worded it, "whystall" where our own text stands.

    ``host`` is where the model runs. ``rejected`` says why the model's text was not taken, "" where it was.
    """

    text: str
    by: str = "whystall"
    host: str = ""
    rejected: Text = msgspec.field(default_factory=lambda: Text(""))
