"""What a page says of an error in Chinese: every message that a watch can meet has its form."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from aiohttp import web

import whystall
import whystall.errors
from servers import http_server
from whystall.errors import Unreachable, UsageError, WhystallError
from whystall.service.error_words import _FORMS, error_text, in_chinese, told
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

SRC = Path(whystall.__file__).parent
# Where a scrape, a survey, the store or a question of a page can end.
MET = [
    "sources/live/http.py",
    "sources/live/body.py",
    "sources/prometheus/asking.py",
    "sources/ray/dashboard.py",
    "service/side_process.py",
    "service/api_whatif.py",
    "service/api_traces.py",
]
ERRORS = {name for name, kind in vars(whystall.errors).items() if isinstance(kind, type)}
# A whole question of a program, and files that only a command line names; half an answer is tried below.
NOT_ON_A_PAGE = re.compile(r"this is no question|the service discovery|cannot be read|is no service discovery|1 gave 1")


def messages(path: Path) -> list[str]:
    """Each error's message in a module, with ``1`` for whatever is put in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS and node.args:
            message = node.args[0]
            if isinstance(message, ast.Constant):
                found.append(str(message.value))
            elif isinstance(message, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "1" for part in message.values)
                found.append("".join(map(str, parts)))
    return [message for message in found if not NOT_ON_A_PAGE.search(message)]


@pytest.mark.parametrize("path", MET)
def test_every_message_has_a_form(path: str):
    found = messages(SRC / path)
    assert found
    assert [message for message in found if in_chinese(message) == message] == []


@pytest.mark.parametrize(
    "what", ["half an answer (200)", "no answer of a Prometheus (200)", "half an answer", "no answer of an API server"]
)
def test_half_an_answer_has_one_too(what: str):
    assert in_chinese(f"http://p:9090 gave {what}").startswith("http://p:9090 的应答")


def test_every_form_puts_in_what_it_took_out():
    for form, zh in _FORMS:
        places = {int(n) for n in re.findall(r"\{(\d)\}", zh)}
        assert not places or max(places) < re.compile(form).groups, form
        assert re.search(r"[\u4e00-\u9fff]", zh), form


async def test_a_real_failure_is_told_in_both_languages(free_port):
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(status=401)

    async with http_server(handler) as url:
        refused = await failure(url)
    gone = await failure(f"http://127.0.0.1:{free_port()}")
    assert (
        error_text("AccessDenied", refused.message).zh == f"拒绝访问：{url}/metrics 返回 401：需要凭据，或所给凭据不对"
    )
    assert told(gone).zh == f"{gone.message.split()[3][:-1]} 没有应答：连接被拒绝"
    assert told(gone).en == gone.message


async def failure(url: str) -> WhystallError:
    with pytest.raises(WhystallError) as caught:
        async with Session(Address.parse(url), Access()) as session:
            await session.metrics()
    return caught.value


def test_what_has_no_form_keeps_its_words_behind_the_name():
    assert told(UsageError("something new")).zh == "请求有误：something new"
    assert error_text("Unreachable").zh == "无法连接（Unreachable）"
    assert error_text("Odd", "something new") == error_text("Odd", "something new")
    assert error_text("Odd", "something new").zh == "Odd：something new"
    assert told(Unreachable("the name of http://{x}:1 is not known")).zh == "无法解析 http://{x}:1 的主机名"
