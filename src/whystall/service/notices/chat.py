"""Chat robots: Slack, Feishu, DingTalk and WeCom. A text from a server must not call everybody by a mark-up of theirs.

Sources: api.slack.com/messaging/webhooks; open.feishu.cn "Custom bot"; open.dingtalk.com "Custom robots";
developer.work.weixin.qq.com "Group robots".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from urllib.parse import quote_plus

import msgspec

from whystall.errors import Refused, Unavailable

from .message import Message
from .request import Post

_WECOM_BYTES = 4096


def slack(said: Message, url: str) -> Post:
    """Slack's incoming webhook: ``text`` with & < > escaped, so that ``<!channel>`` is only text."""
    return Post(url, {"text": _entities(said.text), "unfurl_links": False})


def feishu(said: Message, url: str, key: str, now: float) -> Post:
    """Feishu's custom robot; with ``key`` signed as it wants: the timestamp and the key are the HMAC's key."""
    body: dict[str, object] = {"msg_type": "text", "content": {"text": _entities(said.text)}}
    if key:
        stamp = str(int(now))
        digest = hmac.new(f"{stamp}\n{key}".encode(), b"", hashlib.sha256).digest()
        body |= {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}
    return Post(url, body)


def dingtalk(said: Message, url: str, key: str, now: float) -> Post:
    """DingTalk's robot, in Markdown; with ``key`` the URL is signed."""
    if key:
        stamp = str(int(now * 1000))
        digest = hmac.new(key.encode(), f"{stamp}\n{key}".encode(), hashlib.sha256).digest()
        url = f"{url}{'&' if '?' in url else '?'}timestamp={stamp}&sign={quote_plus(base64.b64encode(digest))}"
    text = "\n\n".join(_markdown(said))
    return Post(url, {"msgtype": "markdown", "markdown": {"title": _plain(said.title)[:60], "text": text}})


def wecom(said: Message, url: str) -> Post:
    """WeCom's group robot, in Markdown of at most 4096 bytes."""
    text = "\n".join(_markdown(said))
    cut = text.encode()[:_WECOM_BYTES].decode("utf-8", "ignore")
    return Post(url, {"msgtype": "markdown", "markdown": {"content": cut}})


def _markdown(said: Message) -> list[str]:
    link = [f"[{said.link}]({said.link})"] if said.link else []
    return [f"**{_plain(said.title)}**", *(_plain(line) for line in said.lines), *link]


class _Answer(msgspec.Struct):
    code: int = 0
    errcode: int = 0
    msg: str = ""
    errmsg: str = ""


_BUSY = frozenset((-1, 9499, 11232, 45009, 130101, 410100))  # too many messages, or a fault of theirs: ask again


def check(body: bytes) -> None:
    """These answer 200 whatever they think of it. Raises Unavailable where one may ask again, Refused where not."""
    try:
        told = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError:
        return  # Slack says "ok"
    code = told.code or told.errcode
    if code:
        reason = f"it answered {code}: {(told.msg or told.errmsg)[:200]}"
        raise Unavailable(reason) if code in _BUSY else Refused(reason)


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Text that Markdown leaves alone as far as it matters: no links, images, mentions or headings."""
    for mark in "\\`*_[]<>#@":
        text = text.replace(mark, f"\\{mark}" if mark not in "<>@" else {"<": "＜", ">": "＞", "@": "＠"}[mark])
    return text
