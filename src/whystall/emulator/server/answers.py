"""What a completion looks like on the wire, streamed or whole."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from whystall.emulator.engine.content import OwnContent
from whystall.emulator.engine.request import Request

from .openai import Ask
from .tokens import generated, greedy_seed

DONE = b"data: [DONE]\n\n"


def text_seed(ask: Ask, prompt: list[int], model: str, number: int) -> int:
    """What a text is drawn from: the request's number, or where it is greedy its prompt and the model's name."""
    return greedy_seed(model, prompt) if ask.greedy else number


class Answer(msgspec.Struct):
    """One HTTP answer: its id, when it was created, and the requests of its choices."""

    id: str
    created: int
    model: str
    ask: Ask
    requests: list[Request]

    def seed(self, index: int) -> int:
        """What the text of a choice is drawn from."""
        return text_seed(self.ask, self.ask.prompts[index], self.model, self.requests[index].id)

    @property
    def _kind(self) -> str:
        if not self.ask.chat:
            return "text_completion"
        return "chat.completion.chunk" if self.ask.stream else "chat.completion"

    def _head(self, kind: str | None = None) -> dict[str, Any]:
        return {"id": self.id, "object": kind or self._kind, "created": self.created, "model": self.model}

    def usage(self) -> dict[str, int]:
        prompt = sum(r.prompt_tokens for r in self.requests)
        output = sum(r.output_tokens for r in self.requests)
        return {"prompt_tokens": prompt, "total_tokens": prompt + output, "completion_tokens": output}

    def opening(self) -> bytes:
        """The first chunk of a streamed chat, which only names the role."""
        if not self.ask.chat:
            return b""
        delta = {"role": "assistant", "content": ""}
        choices = [{"index": i, "delta": delta, "finish_reason": None} for i in range(len(self.requests))]
        return _event({**self._head(), "choices": choices})

    def chunk(self, index: int, first: int, last: int) -> bytes:
        """Tokens ``first`` to ``last`` (exclusive) of a choice, one event each, as vLLM sends them."""
        return b"".join(self._token(index, place) for place in range(first, last))

    def _token(self, index: int, place: int) -> bytes:
        request = self.requests[index]
        text = generated(self.seed(index), place)
        reason = request.reason or None if place == request.output_tokens - 1 else None
        choice: dict[str, Any] = {"index": index, "logprobs": None, "finish_reason": reason}
        choice |= {"delta": {"content": text}} if self.ask.chat else {"text": text}
        return _event({**self._head(), "choices": [choice]})

    def closing(self) -> bytes:
        usage = _event({**self._head(), "choices": [], "usage": self.usage()}) if self.ask.usage else b""
        return usage + DONE

    def whole(self) -> dict[str, Any]:
        """The answer that is not streamed."""
        return {**self._head(), "choices": [self._choice(i) for i in range(len(self.requests))], "usage": self.usage()}

    def _choice(self, index: int) -> dict[str, Any]:
        request = self.requests[index]
        text = "".join(generated(self.seed(index), place) for place in range(request.output_tokens))
        body = {"message": {"role": "assistant", "content": text}} if self.ask.chat else {"text": text}
        return {"index": index, **body, "logprobs": None, "finish_reason": request.reason, "stop_reason": None}


def event_bytes(model: str) -> int:
    """Size of the event that streams one token of a completion."""
    ask = Ask(prompts=([0],), output_tokens=2, max_tokens=2, stream=True, usage=False, chat=False, priority=0, salt="")
    answer = Answer(f"cmpl-{'0' * 32}", 1_790_000_000, model, ask, [Request(1, 1, 2, OwnContent())])
    return len(answer.chunk(0, 0, 1))


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
