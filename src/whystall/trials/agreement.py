"""Whether two servers give the same answers: greedy ones to the same prompts, token by token."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from whystall.errors import Unavailable
from whystall.model.trial import TokenAgreement

from .live_arm import LiveArm

PROMPTS, TOKENS = 16, 64
_PROMPT_TOKENS = 48
_VOCABULARY = (10, 30000)


class _Choice(msgspec.Struct):
    text: str = ""
    token_ids: list[int] | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


async def token_agreement(a: LiveArm, b: LiveArm, *, seed: int = 1) -> TokenAgreement:
    """Ask A twice and B once. A differs from itself where near-ties fall otherwise in another batch: that is the bar.

    Raises Unavailable where a server gives no answer to compare.
    """
    draw = random.Random(seed)
    prompts = [[draw.randrange(*_VOCABULARY) for _ in range(_PROMPT_TOKENS)] for _ in range(PROMPTS)]
    first, again, other = [await _answers(arm, prompts) for arm in (a, a, b)]
    own, ratios = (_leading(first, answers) for answers in (again, other))
    return TokenAgreement(
        prompts=PROMPTS,
        identical=sum(ratio == 1.0 for ratio in ratios),
        leading_ratio=sum(ratios) / PROMPTS,
        baseline_ratio=sum(own) / PROMPTS,
        tokens=TOKENS,
    )


async def _answers(arm: LiveArm, prompts: Sequence[list[int]]) -> list[list[int]]:
    return [await _answer(arm, prompt) for prompt in prompts]


async def _answer(arm: LiveArm, prompt: list[int]) -> list[int]:
    """The tokens of a greedy answer, by id where the server gives them, else the characters of its text."""
    body = {"model": arm.sender.target.model, "prompt": prompt, "max_tokens": TOKENS, "temperature": 0}
    answer = await arm.session.post("/v1/completions", {**body, "ignore_eos": True, "return_token_ids": True}, 60.0)
    try:
        choice = msgspec.json.decode(answer.body, type=_Completion).choices[0]
    except (msgspec.MsgspecError, IndexError) as error:
        raise Unavailable(
            f"{arm.label.target} answered {answer.status} to a prompt of {len(prompt)} tokens, and no completion",
            "Leave --check-tokens away, or see the server's log.",
        ) from error
    return choice.token_ids or [ord(char) for char in choice.text]


def _leading(one: Sequence[list[int]], other: Sequence[list[int]]) -> list[float]:
    """For each pair of answers the share of the longer one up to the first difference."""
    return [_common(x, y) / max(len(x), len(y), 1) for x, y in zip(one, other, strict=True)]


def _common(x: Sequence[int], y: Sequence[int]) -> int:
    return next((k for k, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
