import json

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from whystall.errors import NotATrace, TimedOut, TooLarge, TooLittleData, Unavailable, UsageError, WhystallError
from whystall.service.api_answers import language, refused, require_own_page


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (UsageError, 400),
        (NotATrace, 400),
        (TooLarge, 413),
        (TooLittleData, 503),
        (Unavailable, 503),
        (TimedOut, 504),
        (WhystallError, 500),
    ],
)
def test_an_error_has_its_status_and_its_hint(kind, status):
    answer = refused(kind("what", "next"))
    body = json.loads(answer.text)
    assert (answer.status, body["error"], body["hint"]) == (status, "what", "next")


def test_an_error_is_told_in_the_language_of_the_page():
    body = json.loads(refused(Unavailable("too many ask at once", "Try again in a moment."), "zh").text)
    assert (body["error"], body["hint"]) == ("同时请求过多", "请稍后再试。")


@pytest.mark.parametrize(
    ("query", "lang"), [("?lang=zh", "zh"), ("?lang=en", "en"), ("?lang=%3Cb%3E", "en"), ("", "en")]
)
def test_the_language_is_one_that_there_is(query, lang):
    assert language(make_mocked_request("GET", f"/api/x{query}")) == lang


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_other_sites_are_refused(site):
    with pytest.raises(web.HTTPForbidden):
        require_own_page(make_mocked_request("POST", "/", headers={"Sec-Fetch-Site": site}))


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
def test_our_own_page_and_programs_are_not(headers):
    require_own_page(make_mocked_request("POST", "/", headers=headers))
