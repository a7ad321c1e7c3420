"""OpenAI requests: from a hostile body to what the engine needs, or the error that vLLM answers."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec

from .tokens import tokenize

MAX_BODY_BYTES = 32 * 1024**2
_MAX_CHOICES = 128
_MAX_REQUESTS = 2048  # of one body
_DEFAULT_MAX_TOKENS = 16  # of /v1/completions


class Refusal(Exception):
    """An HTTP error in vLLM's form."""

    def __init__(self, status: int, message: str, kind: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


def bad_request(message: str, param: str | None = None) -> Refusal:
    return Refusal(400, message, "BadRequestError", param)


def busy(reason: str) -> Refusal:
    """The 503 of admission control."""
    texts = {
        "max_num_queued_reqs": "The engine is currently busy and cannot accept new requests.",
        "max_num_queued_tokens": "The engine has reached its prefill token backlog limit.",
    }
    again = " Please try again later or on a different instance."
    return Refusal(503, texts[reason] + again, "Service Unavailable")


class Ask(msgspec.Struct, frozen=True):
    """A request as the server understands it: prompts as token ids, one choice each."""

    prompts: tuple[list[int], ...]
    output_tokens: int  # what will be generated
    max_tokens: int  # what may be
    stream: bool
    usage: bool
    chat: bool
    priority: int
    salt: str
    greedy: bool = False  # temperature 0: the answer hangs on the prompt alone


class Limits(msgspec.Struct, frozen=True):
    """What a request is checked against. ``mean_output``: where it does not ignore EOS, the mean of a natural end."""

    model: str
    max_model_len: int
    mean_output: float = 200.0


def parse(raw: bytes, limits: Limits, *, chat: bool, rng: random.Random) -> Ask:
    """Read a body of ``/v1/completions`` or ``/v1/chat/completions``. Raises :class:`Refusal`."""
    body = _object(raw)
    model = body.get("model", limits.model)
    if model != limits.model:
        raise Refusal(404, f"The model `{str(model)[:200]}` does not exist.", "NotFoundError", "model")
    prompts = _messages(body) if chat else _prompts(body)
    copies = _whole(body, "n", 1, low=1, high=_MAX_CHOICES)
    if len(prompts) * copies > _MAX_REQUESTS:
        raise bad_request(f"{len(prompts)} prompts with n={copies} are more than {_MAX_REQUESTS} requests.", "prompt")
    longest = max(len(prompt) for prompt in prompts)
    room = limits.max_model_len - longest
    if room < 1:
        raise _too_long(limits.max_model_len, longest)
    name = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
    most = _whole(body, name, room if chat else min(_DEFAULT_MAX_TOKENS, room), low=1, high=10**9)
    if longest + most > limits.max_model_len:
        raise _too_many(limits.max_model_len, longest, most, name)
    least = _whole(body, "min_tokens", 0, low=0, high=most)
    natural = most if body.get("ignore_eos") is True else int(rng.expovariate(1 / limits.mean_output)) + 1
    stream_options = body.get("stream_options") or {}
    return Ask(
        prompts=tuple(prompt for prompt in prompts for _ in range(copies)),
        output_tokens=max(min(most, natural), least, 1),
        max_tokens=most,
        stream=body.get("stream") is True,
        usage=isinstance(stream_options, dict) and stream_options.get("include_usage") is True,
        chat=chat,
        priority=_whole(body, "priority", 0, low=-(2**31), high=2**31),
        salt=str(body.get("cache_salt") or "")[:200],
        greedy=body.get("temperature") == 0,
    )


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise bad_request(
            f"[{{'type': 'json_invalid', 'loc': ('body', 0), 'msg': 'JSON decode error: {error}'}}]"
        ) from error
    if not isinstance(body, dict):
        raise bad_request("[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be an object'}]")
    return body


def _whole(body: dict[str, Any], name: str, default: int, *, low: int, high: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad_request(
            f"[{{'type': 'int_type', 'loc': ('body', '{name}'), 'msg': 'Input should be a valid integer'}}]"
        )
    if not low <= value <= high:
        raise bad_request(f"{name} must be at least {low}, got {value}.", name)
    return value


def _prompts(body: dict[str, Any]) -> list[list[int]]:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return [tokenize(prompt) or [0]]
    if isinstance(prompt, list) and prompt:
        if _is_ids(prompt):
            return [prompt]
        if all(isinstance(part, str) for part in prompt):
            return [tokenize(part) or [0] for part in prompt]
        if all(_is_ids(part) and part for part in prompt):
            return prompt
    if not prompt:
        raise bad_request("Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
    raise bad_request("[{'loc': ('body', 'prompt'), 'msg': 'prompt must be text, token ids, or a list of either'}]")


def _is_ids(part: object) -> bool:
    return isinstance(part, list) and all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in part)


def _messages(body: dict[str, Any]) -> list[list[int]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad_request("[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]")
    text = ""
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise bad_request("[{'loc': ('body', 'messages'), 'msg': 'each message needs a role'}]")
        text += f"<|{message['role']}|>{_content(message.get('content'))}"
    return [tokenize(text + "<|assistant|>")]


def _content(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _too_long(limit: int, tokens: int) -> Refusal:
    return bad_request(
        f"This model's maximum context length is {limit} tokens. However, your prompt contains {tokens} input tokens, "
        "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
        "input_tokens",
    )


def _too_many(limit: int, prompt: int, most: int, name: str) -> Refusal:
    return bad_request(
        f"This model's maximum context length is {limit} tokens. However, you requested {most} output tokens and your "
        f"prompt contains {prompt} input tokens, for a total of {prompt + most} tokens. Please reduce the length of the "
        "input prompt or the number of requested output tokens.",
        "input_tokens",
    )
