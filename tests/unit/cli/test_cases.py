"""``whystall cases`` and ``diagnose --keep`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from kept_cases import closed_case
from whystall.cases.book import Book
from whystall.cli import run
from whystall.model.case import Case
from whystall.reports.schema import schema


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "cases.sqlite"


@pytest.fixture
def keep(store: Path):
    def kept(*cases: Case) -> None:
        with Book.open(store) as book:
            for case in cases:
                book.add(case)

    return kept


def answer(capsys, *argv: object) -> tuple[int, str]:
    code = run([str(word) for word in argv])
    return code, capsys.readouterr().out


def test_a_diagnosis_is_kept_once_and_found_again(data: Path, store: Path, capsys) -> None:
    folder = data / "recordings" / "healthy"
    code = run(["diagnose", str(folder), "--keep", "--store", str(store)])
    assert "kept as case 1" in capsys.readouterr().err
    assert run(["diagnose", str(folder), "--keep", "--store", str(store)]) == code
    assert "is case 1" in capsys.readouterr().err
    _, out = answer(capsys, "cases", "list", "--store", store, "--json")
    body = json.loads(out)
    jsonschema.validate(body, schema("cases"), cls=jsonschema.Draft202012Validator)
    assert [one["id"] for one in body["cases"]] == [1]


def test_what_helped_before_is_said_of_a_diagnosis(data: Path, store: Path, capsys) -> None:
    folder = str(data / "recordings" / "seq_cap")
    run(["diagnose", folder, "--keep", "--store", str(store)])
    with Book.open(store) as book:
        book.update(msgspec.structs.replace(book.case(1), outcome="kept", target="elsewhere"))
        # As another window would be: the very same one is not compared with itself.
        book._connection.execute("UPDATE cases SET summary = replace(summary, uid, 'another')")
    capsys.readouterr()
    _, out = answer(capsys, "diagnose", folder, "--store", store, "--json")
    body = json.loads(out)
    assert [one["id"] for one in body["similar"]] == [1]
    assert body["similar"][0]["score"] == pytest.approx(1.0)
    assert body["remedies"][0]["tried"] == {"helped": 1, "of": 1, "cases": [1]}


def test_a_note_is_added_and_the_outcome_counts(store: Path, keep, capsys) -> None:
    keep(closed_case("open", closed=None))
    assert run(["cases", "note", "1", "restarted by hand", "--outcome", "kept", "--store", str(store)]) == 0
    capsys.readouterr()
    _, out = answer(capsys, "cases", "show", 1, "--store", store, "--json")
    body = json.loads(out)
    jsonschema.validate(body, schema("case"), cls=jsonschema.Draft202012Validator)
    assert (body["outcome"], body["notes"][0]["text"], body["steps"][-1]["id"]) == ("kept", "restarted by hand", "kept")
    _, out = answer(capsys, "cases", "list", "--store", store)
    assert "1 of 1" in out


def test_similar_cases_and_why(store: Path, keep, capsys) -> None:
    keep(closed_case(), closed_case("rolled_back"))
    code, out = answer(capsys, "cases", "similar", 1, "--store", store)
    assert code == 0
    assert out.startswith("As case 2; Store the KV cache in FP8: helped 0 of 1")
    assert "the same kv_capacity" in " ".join(out.split())


def test_export_and_import(store: Path, keep, tmp_path: Path, capsys) -> None:
    keep(closed_case(), closed_case("rolled_back"))
    file, other = tmp_path / "some.json", tmp_path / "other.sqlite"
    assert run(["cases", "export", "2", "-o", str(file), "--store", str(store)]) == 0
    assert answer(capsys, "cases", "import", file, "--store", other)[1].startswith("1 cases added")
    assert run(["cases", "import", "--examples", "--store", str(other)]) == 0
    with Book.open(other) as book:
        assert [one.origin for one in book.cases()] == ["fix", "example", "example"]


def test_a_postmortem_as_a_page(store: Path, keep, tmp_path: Path) -> None:
    keep(closed_case())
    page = tmp_path / "pm.html"
    assert run(["cases", "postmortem", "1", "-o", str(page), "--store", str(store), "--lang", "zh"]) == 0
    assert "五个为什么" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["show", "7"], 2, "no case 7"),
        (["import"], 2, "FILE or --examples"),
        (["note", "7", "x"], 2, "no case 7"),
    ],
)
def test_what_is_not_there_is_an_error_by_name(argv, code, said, store: Path, capsys) -> None:
    assert run(["cases", *argv, "--store", str(store)]) == code
    assert said in capsys.readouterr().err


def test_a_store_that_is_none(store: Path, data: Path, capsys, monkeypatch, tmp_path: Path) -> None:
    store.write_bytes(b"no database at all" * 100)
    folder = data / "recordings" / "healthy"
    assert run(["diagnose", str(folder), "--store", str(store)]) == 2
    assert "is no store of cases" in capsys.readouterr().err
    # The usual store in the same state costs a diagnosis its similar cases, not its answer.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "whystall").mkdir()
    store.rename(tmp_path / "whystall" / "cases.sqlite")
    assert run(["diagnose", str(folder)]) in (0, 1, 3)
    assert "kept cases were left out" in capsys.readouterr().err


def test_the_store_of_the_configuration(tmp_path: Path, keep, store: Path, capsys) -> None:
    keep(closed_case())
    toml = tmp_path / "whystall.toml"
    toml.write_text(f'store = "{store}"\n')
    assert f"Cases in {store}: 1" in " ".join(
        answer(capsys, "cases", "list", "--config", toml, "--width", "400")[1].split()
    )
