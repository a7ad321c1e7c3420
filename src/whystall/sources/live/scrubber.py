"""Free text without names, hosts, addresses, paths, prompts and secrets."""

from __future__ import annotations

import ipaddress
import re

from .pseudonyms import Pseudonyms

_ROUTE_WORDS = """/ /metrics /health /load /ping /version /server_info /docs /openapi.json /tokenize /detokenize
    /pooling /classify /score /rerank /v1/score /v1/rerank /v2/rerank /invocations /start_profile /stop_profile
    /sleep /wake_up /is_sleeping /reset_prefix_cache /v1/models /v1/completions /v1/chat/completions /v1/responses
    /v1/embeddings
    /v1/messages /v1/audio/transcriptions /v1/audio/translations /v1/realtime /v1/load_lora_adapter
    /v1/unload_lora_adapter /v1/completions/render /v1/chat/completions/render /inference/v1/generate"""
_ROUTES = frozenset(_ROUTE_WORDS.split())
# Keys whose value names something, whatever it looks like; the kind of pseudonym it gets.
_KINDS = {
    "model": r"model|model_tag|model_name|model_id|tokenizer|served_model_name|name_or_path|_name_or_path|root|parent"
    r"|base_model_name|lora_modules?|lora_name|name|(?:running|waiting)_lora_adapters|adapter\w*|draft_model|hf_config_path",
    "path": r"\w*(?:path|dir|directory|file|folder|root|keyfile|certfile|ca_certs)",
    "host": r"host|hostname|host_ip|\w*_host|\w*_ip|\w*_addr|\w*address|node|node_?name|endpoint|\w*_endpoint|uds",
    "secret": r"\w*(?:api_?key|token|secret|password|passwd|credentials?|authorization)",
    "user": r"user|username|user_?id|owner|email",
    "text": r"chat_template|system_prompt|prompt|generation_prompt|instance_id|session\w*",
}
_KEYS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
PLAIN = re.compile(r"(?:[-+]?[\d.,]+(?:e[-+]?\d+)?|\[\]|\{\}|\(\)|inf|nan|none|true|false|null|auto|)", re.IGNORECASE)

_PAIR = re.compile(
    rf"""(?<![\w-])(?P<key>['"]?(?:{"|".join(_KINDS.values())})['"]?)(?P<sep>\s*[=:]\s*)"""
    r"""(?P<value>\[(?:\s*(?:'[^']*'|"[^"]*")\s*,?)+\]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,()\[\]{}'"]+)""",
    re.IGNORECASE,
)
_FLAG = re.compile(r"""--(?P<key>[a-z][a-z0-9-]*)(?P<sep>[ =])(?P<value>'[^']*'|"[^"]*"|[^\s'"-]\S*)""")
_SERVE = re.compile(r"""(?P<before>\bserve\s+)(?P<value>'[^']*'|"[^"]*"|[^\s'"-]\S*)""")
_PROMPT = re.compile(
    r"\b(?:prompt|output|content|messages?|text|inputs?|response|completion|query|prompt_token_ids|output_token_ids)"
    r"""['"]?\s*[:=]\s*(?=['"\[{(])""",
    re.IGNORECASE,
)
_SECRETS = re.compile(
    r"(?:bearer|basic)\s+[\w+/=.~-]+|\b(?:hf_|sk-|ghp_|glpat-|xox[a-z]-)[\w-]{8,}|\beyJ[\w-]+\.[\w.-]+"
    r"|\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]{32,}\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"(?<![\w-])(?:chatcmpl|cmpl|embd|resp|req|request|score|rerank|pool|tokn|modelperm)-[\w.:-]+")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>,)\]}]+")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b|\b[a-z_][\w-]*@[a-z][\w-]*\b")
_QUOTED_PATH = re.compile(r"""(?P<quote>['"])(?P<path>(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^'"\n]*)(?P=quote)""")
_PATH = re.compile(r"""(?<![\w/.:~<\\-])(?:~[\w-]*|\.{1,2}|[A-Za-z]:)?[/\\](?!\s)[^\s'",;:)\]}<>|]*""")
_IP4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\.?\d)")
_IP6 = re.compile(r"(?<![\w:.])\[?[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:\.\d+){0,3}\]?(?![\w:])")
_HOST = re.compile(
    r"\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|org|net|io|ai|dev|cloud|internal|intern|local|localdomain|lan|corp"
    r"|home|svc|cluster|cn|de|fr|uk|jp|kr|eu|us|edu|gov|mil|info|biz)\b(?!\()",
    re.IGNORECASE,
)


class Scrubber:
    """Replaces what names someone by :class:`Pseudonyms`; numbers and field terms stay."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self.names = pseudonyms

    def text(self, text: str) -> str:
        """Any text: pairs of key and value by their key, the rest by its looks."""
        text = _SECRETS.sub(lambda match: self.names.of(match[0], "secret"), text)
        text = _PAIR.sub(self._pair, text)
        text = _FLAG.sub(self._pair, text)
        text = _SERVE.sub(lambda match: match["before"] + self._quoted(match["value"], "model"), text)
        text = _URL.sub(lambda match: self.names.of(match[0], "url"), text)
        text = _EMAIL.sub(lambda match: self.names.of(match[0], "user"), text)
        text = _QUOTED_PATH.sub(lambda match: match["quote"] + self._path(match["path"]) + match["quote"], text)
        text = _PATH.sub(lambda match: self._path(match[0]), text)
        text = _REQUEST.sub(lambda match: self.names.of(match[0], "request"), text)
        text = _IP4.sub(lambda match: self._address(match[0]), text)
        text = _IP6.sub(lambda match: self._address(match[0]), text)
        text = _HOST.sub(lambda match: self.names.of(match[0], "host"), text)
        return self.names.replace(text)

    def message(self, text: str) -> str:
        """A log line's message: as :meth:`text`, and cut off where a prompt or an answer begins."""
        found = _PROMPT.search(text)
        cut = text if found is None else f"{text[: found.start()]}[text removed]"
        return self.text(cut)

    def valued(self, key: str, value: str) -> str:
        """The value of a key: replaced whole where the key names someone or something."""
        kind = kind_of(key)
        if kind is None or PLAIN.fullmatch(value):
            return self.text(value)
        return self.names.learn(value, kind)

    def _pair(self, match: re.Match[str]) -> str:
        kind = kind_of(match["key"].strip("'\""))
        if kind is None:
            return match[0]
        value = match["value"]
        if value.startswith("["):
            value = re.sub(r"'[^']*'|\"[^\"]*\"", lambda part: self._quoted(part[0], kind), value)
        else:
            value = self._quoted(value, kind)
        start, end = match.span("value")
        return match[0][: start - match.start()] + value + match[0][end - match.start() :]

    def _quoted(self, value: str, kind: str) -> str:
        quote = value[0] if value[:1] in ("'", '"') else ""
        bare = value.strip(quote) if quote else value
        if PLAIN.fullmatch(bare):
            return value
        return f"{quote}{self.names.learn(bare, kind)}{quote}"

    def _path(self, path: str) -> str:
        if path in _ROUTES or not path.strip("/\\.~"):
            return path
        parts = [part for part in re.split(r"[/\\]", path) if part]
        if len(parts) > 1 and parts[0].lower() in ("home", "users"):
            self.names.learn(parts[1], "user")
        return self.names.of(path, "path")

    def _address(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text.strip("[]"))
        except ValueError:
            return text
        return text if address.is_loopback or address.is_unspecified else self.names.of(text.strip("[]"), "ip")


def kind_of(key: str) -> str | None:
    """The kind of what the value of ``key`` names, None where it names nothing."""
    key = key.replace("-", "_")
    return next((kind for kind, pattern in _KEYS.items() if pattern.fullmatch(key)), None)


def mask_secrets(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command line without the values of ``--api-key`` and the like, which nobody needs to keep."""
    found: list[str] = []
    before = ""
    for word in argv:
        flag, equals, _ = word.partition("=")
        if equals and kind_of(flag.removeprefix("--")) == "secret":
            found.append(f"{flag}=***")
        else:
            follows = before.startswith("--") and kind_of(before.removeprefix("--")) == "secret"
            found.append("***" if follows and not word.startswith("--") else word)
        before = word
    return tuple(found)
