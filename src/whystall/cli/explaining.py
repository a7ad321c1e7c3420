"""``--explain-with``: a finished answer worded by a language model. It decides nothing, and its figures are checked."""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from whystall.errors import TooLarge, Unavailable, UsageError
from whystall.model.case import Case, diagnosis_of
from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text
from whystall.model.wording import Wording
from whystall.reports.cases import case_json
from whystall.reports.json import to_json
from whystall.reports.wording import instructions, own_words, question, worded
from whystall.sources.live.access import Access
from whystall.sources.live.language_model import LanguageModel, endpoint

from .reading import token_of

KEY_VARIABLE = "WHYSTALL_EXPLAIN_KEY"
TIMEOUT_S = 120.0  # a large model on a busy server takes a minute for a page
_SENDING = Text("the answer's JSON goes to the language model at {host}", "答案的 JSON 将发送到 {host} 的语言模型")
_ALONE = Text("the language model was of no help: {why}", "语言模型未能提供帮助：{why}")


class Explainer(msgspec.Struct, frozen=True):
    """A model to ask. Without one (None) nothing is worded."""

    model: LanguageModel | None = None

    def diagnosis(self, diagnosis: Diagnosis, lang: str) -> Diagnosis:
        """The diagnosis with its wording, as it came where no model was asked for."""
        if self.model is None:
            return diagnosis
        body = json.loads(to_json(diagnosis, lang))
        return msgspec.structs.replace(diagnosis, wording=self._worded(body, own_words(diagnosis, lang), lang))

    def case(self, case: Case, lang: str) -> Case:
        """The case with its wording."""
        if self.model is None:
            return case
        body = json.loads(case_json(case, lang))
        own = own_words(diagnosis_of(case.diagnosis), lang)
        return msgspec.structs.replace(case, wording=self._worded(body, own, lang))

    def _worded(self, body: dict[str, Any], own: str, lang: str) -> Wording:
        assert self.model is not None
        host = self.model.host
        click.echo(_SENDING.format(host=host).in_(lang), err=True)
        try:
            by, said = asyncio.run(self.model.answer(instructions(lang), question(body)))
        except (Unavailable, TooLarge, UsageError) as error:
            # The answer stands without it.
            click.echo(_ALONE.format(why=error.message).in_(lang), err=True)
            return Wording(own, host=host, rejected=Text(error.message))
        return worded(said, by, host, body, own)


def explain_options(verb: Callable[..., Any]) -> Any:
    """Give a verb the parameter ``explainer``, an :class:`Explainer`."""

    @functools.wraps(verb)
    def with_explainer(
        *args: Any, explain_with: str | None, explain_model: str, explain_key_file: Path | None, **given: Any
    ) -> Any:
        return verb(*args, explainer=_explainer(explain_with, explain_model, explain_key_file), **given)

    with_explainer.__click_params__ = list(getattr(verb, "__click_params__", []))  # type: ignore[attr-defined]
    decorated: Any = with_explainer
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_OPTIONS = (
    click.option("--explain-with", metavar="URL", help="Have the answer worded by a model with OpenAI's API."),
    click.option("--explain-model", default="", metavar="NAME", help="Its name [default: the first it serves]."),
    click.option(
        "--explain-key-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help=f"A file with its key [default: ${KEY_VARIABLE}].",
    ),
)


def _explainer(url: str | None, name: str, key_file: Path | None) -> Explainer:
    if url is None:
        if name or key_file:
            raise UsageError("--explain-model and --explain-key-file need --explain-with", "Name the endpoint's URL.")
        return Explainer()
    key = token_of(key_file) if key_file else os.environ.get(KEY_VARIABLE, "").strip()
    return Explainer(LanguageModel(endpoint(url), Access(token=key, timeout_s=TIMEOUT_S), name))
