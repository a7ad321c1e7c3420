import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

import kept_cases
from whystall.cases.book import Book
from whystall.service.api_postmortem import PostmortemApi


def request(number: int) -> web.Request:
    return make_mocked_request("GET", f"/api/cases/{number}/postmortem", match_info={"id": str(number)})


async def test_without_a_store_there_is_no_case():
    with pytest.raises(web.HTTPNotFound):
        await PostmortemApi(None).get(request(1))


async def test_a_case_whose_diagnosis_is_none_is_named(tmp_path):
    with Book.open(tmp_path / "cases.db") as book:
        book.add(msgspec.structs.replace(kept_cases.open_case(), diagnosis={"verdict": 3}))
    answer = await PostmortemApi(tmp_path / "cases.db").get(request(1))
    assert answer.status == 400
    assert "case 1 holds no diagnosis" in answer.text


async def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "cases.db").write_bytes(b"not a store" * 100)
    answer = await PostmortemApi(tmp_path / "cases.db").get(request(1))
    assert answer.status == 400
