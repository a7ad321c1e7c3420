"""Hostile and ordinary bodies: what the engine is asked for, or the error in vLLM's form."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.server.openai import Ask, Limits, Refusal, parse
from whystall.emulator.server.tokens import generated, tokenize

LIMITS = Limits("m", 1000)


def ask(body: object, *, chat: bool = False) -> Ask:
    return parse(json.dumps(body).encode(), LIMITS, chat=chat, rng=random.Random(1))


def test_token_ids_text_and_lists_of_both() -> None:
    assert ask({"prompt": [5, 6, 7]}).prompts == ([5, 6, 7],)
    assert len(ask({"prompt": "hello world"}).prompts[0]) == 3
    assert len(ask({"prompt": ["a", "b"]}).prompts) == 2
    assert ask({"prompt": [[1], [2, 3]], "n": 2}).prompts == ([1], [1], [2, 3], [2, 3])


def test_lengths() -> None:
    assert ask({"prompt": [1]}).max_tokens == 16
    fixed = ask({"prompt": [1], "max_tokens": 77, "ignore_eos": True})
    assert (fixed.output_tokens, fixed.max_tokens) == (77, 77)
    assert ask({"prompt": [1], "max_tokens": 500, "min_tokens": 490}).output_tokens >= 490
    chat = ask({"messages": [{"role": "user", "content": "hi"}]}, chat=True)
    assert chat.max_tokens == 1000 - len(chat.prompts[0])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"prompt": [1] * 1000}, 400),
        ({"prompt": [1] * 990, "max_tokens": 20}, 400),
        ({"model": "other", "prompt": "a"}, 404),
        ({}, 400),
        ({"prompt": []}, 400),
        ({"prompt": {"a": 1}}, 400),
        ({"prompt": [1, "a"]}, 400),
        ({"prompt": [-1]}, 400),
        ({"prompt": "a", "max_tokens": 0}, 400),
        ({"prompt": "a", "max_tokens": "many"}, 400),
        ({"prompt": "a", "n": 10**6}, 400),
        ({"prompt": [[1]] * 100, "n": 100}, 400),
        ([], 400),
        ("text", 400),
    ],
)
def test_what_cannot_be_served_is_refused(body: object, status: int) -> None:
    with pytest.raises(Refusal) as refusal:
        ask(body)
    assert refusal.value.status == status
    assert set(refusal.value.body["error"]) == {"message", "type", "param", "code"}


@given(st.binary(max_size=200))
def test_bytes_never_do_worse_than_a_refusal(raw: bytes) -> None:
    with pytest.raises(Refusal):
        parse(raw, LIMITS, chat=False, rng=random.Random(1))


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["prompt", "messages", "max_tokens", "n", "stream_options", "model"]), _JSON))
def test_any_json_is_served_or_refused(body: dict[str, Any]) -> None:
    for chat in (False, True):
        try:
            asked = ask(body, chat=chat)
        except Refusal:
            continue
        assert 1 <= asked.output_tokens <= asked.max_tokens
        assert all(prompt and len(prompt) + asked.max_tokens <= 1000 for prompt in asked.prompts)


def test_a_conversation_sent_back_has_the_ids_that_were_generated() -> None:
    texts = [generated(7, place) for place in range(20)]
    assert tokenize("".join(texts)) == [tokenize(text)[0] for text in texts]
