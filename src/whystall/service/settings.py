"""``[watch]`` of whystall.toml."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from whystall.errors import UsageError
from whystall.model.duration import parse_duration
from whystall.model.text import LANGUAGES
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address

from .links import MOST_PEERS
from .silence import Silence

LEAST_REPORT_S = 3600.0
NoticeKind = Literal["alertmanager", "pagerduty", "webhook", "slack", "feishu", "dingtalk", "wecom"]


class NoticeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[[watch.notices]]``: who is told. A URL that holds a secret comes from ``url_env`` or ``url_file``.

    ``key_env`` or ``key_file`` name PagerDuty's routing key, the signing secret of Feishu or DingTalk, or a bearer token for
    Alertmanager and webhooks. ``warnings``: forecasts, too. ``reports``: the health reports of ``[watch.report]``, which
    Alertmanager and PagerDuty have no place for. ``targets`` are shell patterns of names.
    """

    kind: NoticeKind
    url: str = ""
    url_env: str = ""
    url_file: str = ""
    key_env: str = ""
    key_file: str = ""
    warnings: bool = False
    reports: bool = False
    targets: tuple[str, ...] = ("*",)
    lang: str = "en"

    def address(self, environ: Mapping[str, str] = os.environ) -> str:
        """The URL, wherever it is. Raises UsageError where there is none."""
        found = self.url or _secret(self.url_env, self.url_file, environ)
        if not found and self.kind == "pagerduty":
            return "https://events.pagerduty.com/v2/enqueue"
        if not found.startswith(("http://", "https://")):
            raise UsageError(f"the notice of kind {self.kind} has no URL", "Give url, url_env or url_file.")
        return found

    def key(self, environ: Mapping[str, str] = os.environ) -> str:
        """The key, "" where none is named. Raises UsageError where it is named and not there, or PagerDuty's is not."""
        found = _secret(self.key_env, self.key_file, environ)
        if not found and self.kind == "pagerduty":
            raise UsageError("a notice to PagerDuty needs its routing key", "Give key_env or key_file.")
        return found


def check_lang(lang: str, place: str = "") -> None:
    """Raises UsageError for a language that no text is written in; ``place`` is where it stands."""
    if lang not in LANGUAGES:
        raise UsageError(f"{place}{lang!r} is not spoken", f"Known are {' and '.join(LANGUAGES)}.")


class OtlpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[watch.otlp]``: findings, incidents and own metrics go to ``endpoint`` by OTLP over HTTP, every so often.

    ``key_env`` or ``key_file`` name what the backend wants in ``header`` (``dd-api-key``, ``api-key``; with
    ``Authorization`` it is a bearer token). ``lang`` is that of the incidents' texts.
    """

    endpoint: str
    every: str = "30s"
    header: str = "Authorization"
    key_env: str = ""
    key_file: str = ""
    lang: str = "en"

    def check(self) -> None:
        """Raises UsageError for what cannot be read."""
        Address.parse(self.endpoint)
        parse_duration(self.every)
        check_lang(self.lang)

    def access(self, environ: Mapping[str, str] = os.environ) -> Access:
        """How the backend is reached. Raises UsageError where a key is named and not there."""
        key = _secret(self.key_env, self.key_file, environ)
        if not key or self.header.lower() == "authorization":
            return Access(token=key)
        return Access(headers=((self.header, key),))


class ReportSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[watch.report]``: a health report of every ``every``, at ``at`` (time of day in ``zone``), as Markdown and JSON into
    ``folder``, and as a message to the notices with ``reports = true``."""

    every: str = "1d"
    at: str = "08:00"
    zone: str = "UTC"
    folder: str = ""
    lang: str = "en"

    def check(self) -> None:
        """Raises UsageError for what cannot be read."""
        Silence(begin=self.at, until=self.at, zone=self.zone).check()
        if parse_duration(self.every) < LEAST_REPORT_S:
            raise UsageError(f"every {self.every} is too often", "Write 1h or more; incidents are told as they happen.")
        check_lang(self.lang)


class WatchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How ``whystall watch`` runs. Empty text means that the file does not say."""

    listen: str = ""
    interval: str = ""
    store: str = ""
    keep: str = "30d"
    full: str = "7d"
    peers: tuple[str, ...] = ()  # other daemons' HTTP faces, to which round trips are measured
    external_url: str = ""  # where people reach the dashboard, for links in notices
    dry_run: bool = False  # a forecast starts the dry run of a fix; it costs some seconds of a core
    silences: tuple[Silence, ...] = ()
    notices: tuple[NoticeSettings, ...] = ()
    otlp: OtlpSettings | None = None
    report: ReportSettings | None = None

    def check(self) -> None:
        """Raises UsageError naming the key that is wrong."""
        for name in ("interval", "keep", "full"):
            text = getattr(self, name)
            _named(f"watch.{name}", partial(parse_duration, text or "1s"))
        for place, peer in enumerate(self.peers):
            _named(f"watch.peers[{place}]", partial(Address.parse, peer))
        if len(self.peers) > MOST_PEERS:
            raise UsageError(f"watch.peers: {len(self.peers)} are named", f"{MOST_PEERS} at most are probed.")
        if self.report is not None:
            _named("watch.report", self.report.check)
        if self.otlp is not None:
            _named("watch.otlp", self.otlp.check)
        for place, silence in enumerate(self.silences):
            _named(f"watch.silences[{place}]", silence.check)
        for place, notice in enumerate(self.notices):
            check_lang(notice.lang, f"watch.notices[{place}].lang: ")


def _named(key: str, check: Callable[[], object]) -> None:
    try:
        check()
    except UsageError as error:
        raise UsageError(f"{key}: {error.message}", error.hint) from error


def _secret(variable: str, file: str, environ: Mapping[str, str]) -> str:
    if variable:
        found = environ.get(variable, "").strip()
        if not found:
            raise UsageError(f"the variable {variable} is not set", "It holds what must not stand in whystall.toml.")
        return found
    if not file:
        return ""
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the file {file} cannot be read: {error}", "It holds what must not stand in whystall.toml."
        ) from None
