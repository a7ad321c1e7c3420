"""Each kind against a fake that checks what it gets by the receiver's own documentation."""

import asyncio
import base64
import hashlib
import hmac
import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
from aiohttp import web
from msgspec.structs import replace

from kept_incidents import INCIDENT
from servers import http_server
from whystall.model.health import EngineHealth, HealthReport
from whystall.model.incident import Happening
from whystall.model.text import Text
from whystall.service.log import Log
from whystall.service.notices.receiver import ATTEMPTS, Receiver
from whystall.service.settings import NoticeSettings

OPENED = Happening(
    "opened",
    replace(INCIDENT, headline=Text("KV cache too small <!channel> @all [x](http://evil)"), cause="kv_capacity"),
)
CLOSED = Happening("recovered", replace(OPENED.incident, state="recovered", recovered=120.0, updated=150.0))
STRING = {"type": "string", "minLength": 1}
SCHEMAS = {
    "alertmanager": {
        "type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["labels"], "additionalProperties": False,
            "properties": {
                "labels": {"type": "object", "additionalProperties": {"type": "string"}, "required": ["alertname"]},
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                "startsAt": {"type": "string", "pattern": r"^\d{4}-.*Z$"},
                "endsAt": {"type": "string", "pattern": r"^\d{4}-.*Z$"},
                "generatorURL": {"type": "string"}}}},
    "pagerduty": {
        "type": "object", "required": ["routing_key", "event_action", "dedup_key", "payload"],
        "properties": {
            "routing_key": STRING, "dedup_key": {"type": "string", "maxLength": 255},
            "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
            "payload": {"type": "object", "required": ["summary", "source", "severity"], "properties": {
                "summary": {"type": "string", "maxLength": 1024}, "source": STRING,
                "severity": {"enum": ["critical", "error", "warning", "info"]}, "timestamp": {"type": "string"}}}}},
    "slack": {"type": "object", "required": ["text"], "properties": {"text": STRING}},
    "feishu": {
        "type": "object", "required": ["msg_type", "content"],
        "properties": {"msg_type": {"const": "text"}, "content": {"type": "object", "required": ["text"]}}},
    "dingtalk": {
        "type": "object", "required": ["msgtype", "markdown"],
        "properties": {"msgtype": {"const": "markdown"}, "markdown": {"type": "object", "required": ["title", "text"]}}},
    "wecom": {
        "type": "object", "required": ["msgtype", "markdown"],
        "properties": {"msgtype": {"const": "markdown"}, "markdown": {"type": "object", "required": ["content"]}}},
    "webhook": {"type": "object", "required": ["schema", "what", "incident", "title", "text"]},
}  # fmt: skip


class Fake:
    """A receiver's server: keeps what came, answers what it is told to."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.got: list[tuple[web.Request, object]] = []
        self.answers = list(answers)

    async def handle(self, request: web.Request) -> web.Response:
        self.got.append((request, json.loads(await request.read())))
        if self.answers:
            status, body = self.answers.pop(0)
            return web.Response(status=status, text=body)
        return web.Response(text="{}")


@asynccontextmanager
async def receiver(
    kind: str, fake: Fake, monkeypatch, path: str = "/hook?token=geheim", key: str = "schluessel", **more
):
    lines: list[str] = []
    monkeypatch.setenv("THE_KEY", key)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async with http_server(fake.handle) as url:
        monkeypatch.setenv("THE_URL", url + path)
        settings = NoticeSettings(kind, url_env="THE_URL", key_env="THE_KEY" if key else "", **more)
        one = Receiver(settings, Log(write=lines.append), "http://dash", sleep=pause)
        task = asyncio.create_task(one.run())
        yield one, lines, pauses
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
async def test_one_message_as_it_opens_and_one_as_it_closes(kind, monkeypatch):
    fake = Fake()
    async with receiver(kind, fake, monkeypatch) as (one, _, _):
        one.tell(OPENED)
        one.tell(CLOSED)
        await one.drained()
        assert one.sent == 2
    for _, body in fake.got:
        jsonschema.validate(body, SCHEMAS[kind])
    texts = [json.dumps(body, ensure_ascii=False) for _, body in fake.got]
    assert "KV cache too small" in texts[0]
    assert kind == "webhook" or "http://dash/" in texts[0]
    if kind in ("slack", "feishu", "dingtalk", "wecom"):
        assert "<!channel>" not in texts[0]
        assert "OPENED" in texts[0]
        assert "RECOVERED" in texts[1]


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
async def test_a_health_report_goes_to_chats_and_webhooks_that_want_it(kind, monkeypatch):
    fake = Fake()
    engine = EngineHealth("prod <!channel>", "incident", Text("KV cache too small"), 1, 60.0)
    report = HealthReport(0.0, 86_400.0, (engine,), ())
    async with receiver(kind, fake, monkeypatch, reports=True) as (one, _, _):
        one.report(report)
        await one.drained()
    async with receiver(kind, fake, monkeypatch) as (one, _, _):
        one.report(report)  # nobody asked for it
        await one.drained()
    assert len(fake.got) == (kind not in ("alertmanager", "pagerduty"))
    for _, body in fake.got:
        text = json.dumps(body, ensure_ascii=False)
        assert "Health, engines 1: 1 in an incident" in text
        assert kind == "webhook" or "<!channel>" not in text


async def test_alertmanager_gets_the_same_alert_and_its_end(monkeypatch):
    fake = Fake()
    async with receiver("alertmanager", fake, monkeypatch, path="/prefix") as (one, _, _):
        one.tell(OPENED)
        one.tell(CLOSED)
        await one.drained()
    (first, (opened,)), (_, (closed,)) = fake.got
    assert first.path == "/prefix/api/v2/alerts"
    assert first.headers["Authorization"] == "Bearer schluessel"
    assert opened["labels"] == closed["labels"]
    assert opened["endsAt"] > closed["endsAt"] == "1970-01-01T00:02:00.000Z"


async def test_pagerduty_resolves_what_it_triggered(monkeypatch):
    fake = Fake()
    async with receiver("pagerduty", fake, monkeypatch) as (one, _, _):
        one.tell(OPENED)
        one.tell(CLOSED)
        await one.drained()
    bodies = [body for _, body in fake.got]
    assert [body["event_action"] for body in bodies] == ["trigger", "resolve"]
    assert bodies[0]["dedup_key"] == bodies[1]["dedup_key"]


async def test_dingtalk_and_feishu_are_signed(monkeypatch):
    ding, fei = Fake(), Fake()
    async with receiver("dingtalk", ding, monkeypatch) as (one, _, _):
        one.tell(OPENED)
        await one.drained()
    query = parse_qs(urlsplit(str(ding.got[0][0].url)).query)
    wanted = hmac.new(b"schluessel", f"{query['timestamp'][0]}\nschluessel".encode(), hashlib.sha256).digest()
    assert base64.b64decode(query["sign"][0]) == wanted
    assert query["token"] == ["geheim"]
    async with receiver("feishu", fei, monkeypatch) as (one, _, _):
        one.tell(OPENED)
        await one.drained()
    body = fei.got[0][1]
    wanted = hmac.new(f"{body['timestamp']}\nschluessel".encode(), b"", hashlib.sha256).digest()
    assert base64.b64decode(body["sign"]) == wanted


async def test_a_receiver_that_is_down_is_asked_again_with_longer_pauses(monkeypatch):
    fake = Fake((503, ""), (429, ""), (200, '{"errcode": 45009, "errmsg": "busy"}'), (200, '{"errcode": 0}'))
    async with receiver("wecom", fake, monkeypatch) as (one, lines, pauses):
        one.tell(OPENED)
        await one.drained()
        assert (one.sent, one.lost) == (1, 0)
    assert pauses == [1.0, 2.0, 4.0]
    assert lines == []


@pytest.mark.parametrize("answer", [(400, ""), (403, ""), (200, '{"code": 19021, "msg": "sign match fail"}')])
async def test_one_that_refuses_is_named_without_its_secret(answer, monkeypatch):
    fake = Fake(answer)
    async with receiver("feishu", fake, monkeypatch) as (one, lines, _):
        one.tell(OPENED)
        await one.drained()
        assert one.lost == 1
    (line,) = lines
    assert "could not be sent" in line
    assert "geheim" not in line
    assert "schluessel" not in line


async def test_one_that_never_answers_is_given_up(monkeypatch):
    fake = Fake(*[(500, "")] * ATTEMPTS)
    async with receiver("slack", fake, monkeypatch) as (one, lines, pauses):
        one.tell(OPENED)
        await one.drained()
    assert len(fake.got) == ATTEMPTS
    assert max(pauses) == 60.0
    assert len(lines) == 1


async def test_who_was_not_told_of_the_begin_is_not_told_of_the_end(monkeypatch):
    fake = Fake()
    async with receiver("slack", fake, monkeypatch, targets=("a*",)) as (one, _, _):
        one.tell(CLOSED)
        one.tell(Happening("opened", replace(OPENED.incident, engine_id="lab")))
        one.tell(Happening("opened", replace(OPENED.incident, state="warning")))
        one.tell(Happening("opened", replace(OPENED.incident, silenced="maintenance")))
        await one.drained()
        assert fake.got == []
        one.tell(Happening("updated", OPENED.incident))  # the silence is over
        await one.drained()
    assert "OPENED" in fake.got[0][1]["text"]


async def test_after_a_restart_the_end_is_told(monkeypatch):
    fake = Fake()
    async with receiver("slack", fake, monkeypatch) as (one, _, _):
        one.remember([OPENED.incident])
        one.tell(CLOSED)
        await one.drained()
    assert "RECOVERED" in fake.got[0][1]["text"]
