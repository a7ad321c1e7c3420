"""Text and tokens of the emulated model: four characters a token, and words that stand for ids."""

from __future__ import annotations

from zlib import crc32

VOCABULARY = 32000
_PIECE = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tokenize(text: str) -> list[int]:
    """Token ids of ``text``. Equal prefixes have equal ids, which is what the prefix cache needs."""
    return [_id(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE)]


def _id(piece: str) -> int:
    return 10 + crc32(piece.encode("utf-8", "surrogatepass")) % (VOCABULARY - 10)


def word(number: int) -> str:
    """The text of a generated token: one piece, so that a conversation sent back has the ids it was given."""
    letters = ""
    for _ in range(_PIECE - 1):
        number, place = divmod(number, len(_LETTERS))
        letters += _LETTERS[place]
    return f" {letters}"


def generated(seed: int, place: int) -> str:
    """The text of the ``place``-th token that request ``seed`` generates."""
    return word(crc32(f"{seed}/{place}".encode()))


def detokenized_id(text: str) -> int:
    """The id of a generated word."""
    return _id(text)


def greedy_seed(model: str, prompt: list[int]) -> int:
    """What stands for a request in :func:`generated` when nothing is drawn: its model and its prompt."""
    return crc32(f"{model}/{prompt}".encode())
