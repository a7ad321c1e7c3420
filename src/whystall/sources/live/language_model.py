"""A language model behind an OpenAI-compatible endpoint. What it answers is text of a stranger."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from whystall.errors import AccessDenied, Unavailable, UsageError

from .access import Access
from .address import Address
from .http import Answer, Session

MAX_ANSWER_BYTES = 256_000
MAX_TOKENS = 1_200  # of its answer: a page
_HINT = "It must speak OpenAI's API: POST /v1/chat/completions."


T = TypeVar("T", bound=msgspec.Struct)


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class LanguageModel(msgspec.Struct, frozen=True):
    """Where it is, how it is reached, and its name; "" is the first that the endpoint serves."""

    address: Address
    access: Access
    name: str = ""

    @property
    def host(self) -> str:
        """What is printed before anything is sent there: host and port, never a key."""
        return f"{self.address.host}:{self.address.port}"

    async def answer(self, instructions: str, question: str) -> tuple[str, str]:
        """The model's name and its answer to one question, at temperature 0.

        Raises :class:`~whystall.errors.Unavailable` or a kind of it, ``TooLarge``, or UsageError where it has no model.
        """
        async with Session(self.address, self.access) as session:
            name = self.name or await _first_model(session)
            messages = [{"role": "system", "content": instructions}, {"role": "user", "content": question}]
            body = {"model": name, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS, "stream": False}
            reply = await session.post("/v1/chat/completions", body, limit=MAX_ANSWER_BYTES)
            completion = _decoded(reply, _Completion, self.host)
        text = completion.choices[0].message.content if completion.choices else None
        if not text or not text.strip():
            raise Unavailable(
                f"the language model at {self.host} answered nothing", "Try another with --explain-model."
            )
        return name, text


def endpoint(url: str) -> Address:
    """The endpoint's address; the path of one of OpenAI's calls at its end is left away. Raises UsageError."""
    for ending in ("/chat/completions", "/completions"):
        url = url.rstrip("/").removesuffix(ending)
    return Address.parse(url)


async def _first_model(session: Session) -> str:
    models = _decoded(await session.get("/v1/models", MAX_ANSWER_BYTES), _Models, session.address.base)
    if not models.data:
        raise UsageError(f"{session.address.base} serves no model", "Name one with --explain-model.")
    return models.data[0].id


def _decoded(reply: Answer, kind: type[T], where: str) -> T:
    if reply.status in (401, 403):
        raise AccessDenied(
            f"{where} answered {reply.status}: it wants a key, or not this one",
            "Give it in WHYSTALL_EXPLAIN_KEY or --explain-key-file.",
        )
    if reply.status != 200:
        raise Unavailable(f"{where} answered {reply.status}", _HINT)
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unavailable(f"{where} gave no completion: {error}", _HINT) from error
