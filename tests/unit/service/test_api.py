"""The dashboard's parts of the API over real HTTP on loopback."""

import shutil

import aiohttp
import pytest
from jsonschema import validate

import kept_cases
import shown_server
from whystall.cases.book import Book
from whystall.reports.schema import schema
from whystall.service.api_traces import plain_name, stored

PLENTY = 60


@pytest.fixture(scope="module")
def scene(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("api")
    with Book.open(folder / "cases.db") as book:
        book.add(kept_cases.proven_case())
    traces = folder / "traces"
    traces.mkdir()
    shutil.copy(data / "traces" / "h200_m8b_graph.json.gz", traces / "step.json.gz")
    (folder / "secret").write_text("no")
    (traces / "link").symlink_to(folder / "secret")
    (traces / ".hidden").write_text("no")
    scene = shown_server.Scene(folder / "cases.db", traces)
    scene.recordings = {"a": "seq_cap"}
    with shown_server.serving(scene):
        yield scene


async def asked(scene, path, **how):
    async with (
        aiohttp.ClientSession() as session,
        session.request(how.pop("method", "GET"), scene.url + path, **how) as answer,
    ):
        kind = answer.content_type
        return answer.status, await answer.json() if kind == "application/json" else await answer.text(), answer.headers


@pytest.mark.parametrize(("lang", "title"), [("en", "KV cache too small"), ("zh", "KV 缓存不足")])
async def test_the_catalogue_is_in_the_language_asked_for(scene, lang, title):
    status, found, _ = await asked(scene, f"/api/catalogue?lang={lang}")
    assert (status, found["causes"]["kv_capacity"]["title"]) == (200, title)
    validate(found, schema("catalogue"))


async def test_a_post_mortem_is_a_page_with_a_policy_of_its_own(scene):
    status, page, headers = await asked(scene, "/api/cases/1/postmortem?lang=zh")
    assert (status, "KV 块耗尽" in page) == (200, True)
    assert "sha256-" in headers["Content-Security-Policy"]
    assert (await asked(scene, "/api/cases/99/postmortem"))[0] == 404


async def test_the_list_of_traces_leaves_out_links_and_hidden_files(scene):
    _, found, _ = await asked(scene, "/api/traces")
    assert [file["name"] for file in found["files"]] == ["step.json.gz"]
    validate(found, schema("trace_files"))


async def test_a_picked_trace_is_read(scene):
    status, found, _ = await asked(scene, "/api/traces/step.json.gz?lang=zh")
    assert status == 200
    assert "GPU" in found["headline"]
    assert found["timelines"][0]["steps"]
    validate(found, schema("trace_page"))


@pytest.mark.parametrize("name", ["..%2Fsecret", "link", ".hidden", "%2Fetc%2Fpasswd", "..%2Ftraces%2Fstep.json.gz"])
async def test_no_name_leads_out_of_the_folder(scene, name):
    assert (await asked(scene, f"/api/traces/{name}"))[0] == 404


async def test_an_upload_is_read_and_named(scene, data):
    body = (data / "traces" / "h200_m1b_eager.json.gz").read_bytes()
    status, found, _ = await asked(scene, "/api/traces?name=..%2F..%2Fmine.json.gz", method="POST", data=body)
    assert status == 200
    assert found["about"][0].startswith("mine.json.gz · pytorch")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "the file is empty"),
        (b"hello", 400, "in no format known here"),
        (b"x" * (5 << 20), 413, "larger than 4 MiB"),
    ],
)
async def test_a_bad_upload_is_refused_by_name(scene, body, status, said):
    async def pieces():
        for start in range(0, len(body), 1 << 16):
            yield body[start : start + (1 << 16)]

    found = await asked(scene, "/api/traces?name=f", method="POST", data=pieces())  # chunked: no length is announced
    assert found[0] == status
    assert said in found[1]["error"]
    validate(found[1], schema("error"))


async def test_a_form_has_the_values_in_force(scene):
    status, found, _ = await asked(scene, "/api/whatif/a")
    seats = next(one for one in found["knobs"] if one["id"] == "max_num_seqs")
    assert (status, seats["now"], seats["flag"]) == (200, "16", "--max-num-seqs")
    assert "16" in seats["values"]
    assert len(seats["values"]) == 7
    validate(found, schema("whatif_form"))


async def test_a_question_is_answered(scene):
    body = {"engine": "a", "change": {"max_num_seqs": "64"}, "assume": {"rate": "0.5"}}
    status, found, _ = await asked(scene, "/api/whatif", method="POST", json=body)
    assert status == 200
    assert found["predictions"][0]["metrics"]
    validate(found, schema("whatif"))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"engine": "nobody"}, 404, "no such engine"),
        ({"engine": "a"}, 400, "nothing was asked"),
        ({"engine": "a", "change": {"max_num_seqs": "-5"}}, 400, "refuse to start"),
        ({"engine": "a", "assume": {"sun": "1"}}, 400, "nothing that can be assumed"),
        ({"engine": "a", "change": {f"f{n}": "1" for n in range(30)}}, 400, "changes at once"),
        ({"engine": "a", "more": 1}, 400, "no question"),
        ({"engine": "a", "draws": 100000}, 400, "no question"),
        ({"engine": "a", "change": {"x": "y" * 9000}}, 413, "bytes"),
        ([], 400, "no question"),
    ],
)
async def test_a_bad_question_is_refused_by_name(scene, body, status, said):
    found = await asked(scene, "/api/whatif", method="POST", json=body)
    assert found[0] == status
    assert said in found[1]["error"]


async def test_another_site_may_not_ask_for_work(scene):
    headers = {"Sec-Fetch-Site": "cross-site"}
    for path in ("/api/whatif", "/api/traces"):
        assert (await asked(scene, path, method="POST", data=b"{}", headers=headers))[0] == 403


def test_names_are_plain():
    assert plain_name("../../etc/passwd") == "passwd"
    assert plain_name("C:\\runs\\a b.json") == "a b.json"
    assert plain_name("..") == plain_name("") == "upload"
    assert plain_name("x\x00\n<img>.json") == "x_img_.json"
    assert len(plain_name("n" * 1000)) == 100


def test_no_folder_has_no_files(tmp_path):
    assert stored(None) == stored(tmp_path / "none") == ()
