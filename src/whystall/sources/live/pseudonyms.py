"""Names to stand for names: the same one for the same text all through a recording, and no way back."""

from __future__ import annotations

import re

# Words that name nobody, though a model or a user may be called so; replacing them would wreck the log.
_ORDINARY_WORDS = """vllm model models default auto none true false null test main root user admin nobody ubuntu worker
    engine server api cuda cpu gpu token tokens float16 bfloat16 fp8 half info debug error warning localhost data home
    cache tmp var usr opt etc mnt srv lib bin serve python app apps work workspace local share snapshots hub"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_SHORT = 3  # shorter words would be found inside everything


class Pseudonyms:
    """Hands out ``model-1``, ``host-2``, ``path-3``. Numbered, not hashed: a hash of a known name can be looked up."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._words: dict[str, str] = {}  # replaced wherever they stand
        self._lowered: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def of(self, text: str, kind: str) -> str:
        """The pseudonym of ``text``. One that was given out stands for itself."""
        if text in self._given:
            return self._given[text]
        self._counts[kind] = number = self._counts.get(kind, 0) + 1
        name = f"{kind}-{number}"
        self._given[text] = self._given[name] = name
        return name

    def learn(self, text: str, kind: str) -> str:
        """As :meth:`of`, and from now on :meth:`replace` finds ``text`` and its parts wherever they stand."""
        name = self.of(text, kind)
        for word in (text, *re.split(r"[/\\@:]+", text)):
            if len(word) >= _SHORT and word.lower() not in _ORDINARY and not re.fullmatch(r"[\d.]+", word):
                self._add(word, name)
        return name

    def _add(self, word: str, name: str) -> None:
        # Hugging Face writes a/b as a--b in the names of its cache folders.
        for form in {word, word.replace("/", "--")}:
            if form not in self._words and not re.fullmatch(r"[a-z]+-\d+", form):
                self._words[form] = name
                self._pattern = None

    def replace(self, text: str) -> str:
        """``text`` without any word that was learnt."""
        if not self._words:
            return text
        if self._pattern is None:
            longest_first = sorted(self._words, key=len, reverse=True)
            alternatives = "|".join(map(re.escape, longest_first))
            self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE)
            self._lowered = {word.lower(): name for word, name in self._words.items()}
        return self._pattern.sub(lambda match: self._lowered[match[0].lower()], text)
