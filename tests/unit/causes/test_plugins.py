"""Plugins come through the door that our own causes come through; what is no cause is refused by name."""

import importlib
import re
import sys
from pathlib import Path

import msgspec
import pytest

from cases.window import recording_of
from whystall.causes import notices
from whystall.causes.catalogue import catalogue
from whystall.causes.entry import Link, Need
from whystall.causes.plugins import GROUP, Refusal, admit, installed, problems
from whystall.model.text import Text
from whystall.pipeline import diagnose

OURS = catalogue()["burst"]
GOOD = msgspec.structs.replace(OURS, id="their_own")


class Plugin:
    """An entry point that loads what it is given, or raises it."""

    dist = None

    def __init__(self, given: object, name: str = "theirs") -> None:
        self.given, self.name = given, name

    def load(self) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def test_a_cause_of_another_package_stands_beside_ours() -> None:
    found = admit([OURS], [Plugin(GOOD)])
    assert list(found.causes) == ["burst", "their_own"]
    assert found.refused == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (OURS, "there is a cause 'burst' already"),
        ({"id": "x"}, "it gives a dict and no CauseEntry"),
        (ImportError("no module named theirs"), "no module named theirs"),
        (msgspec.structs.replace(GOOD, id="../x"), "the id '../x'"),
        (msgspec.structs.replace(GOOD, bias=3.0), "bias 3 would name it without evidence"),
        (msgspec.structs.replace(GOOD, bias=float("nan")), "bias nan"),
        (msgspec.structs.replace(GOOD, weights={**GOOD.weights, "kv.saturated": 1e9}), "the weight of kv.saturated"),
        (msgspec.structs.replace(GOOD, title=Text("", "")), "title is no text"),
        (msgspec.structs.replace(GOOD, links=()), "it has no why"),
        (msgspec.structs.replace(GOOD, hurts_as=()), "it says neither how it hurts"),
        (msgspec.structs.replace(GOOD, settled_by=("smell",)), "settled by 'smell'"),
        (msgspec.structs.replace(GOOD, links=(Link(Text("x"), ()),)), "a why checks nothing"),
        (msgspec.structs.replace(GOOD, links=(Link(Text("{a_b}"), (Need("kv.saturated"),)),)), "quotes 'a_b'"),
        (msgspec.structs.replace(GOOD, links=(Link(Text("x"), (Need("no.weight"),)),)), "which has no weight"),
    ],
)
def test_a_bad_plugin_is_refused_by_name_and_the_rest_stands(given: object, why: str) -> None:
    found = admit([OURS], [Plugin(given, "bad"), Plugin(GOOD, "good")])
    assert list(found.causes) == ["burst", "their_own"]
    (refusal,) = found.refused
    assert refusal.name == "bad"
    assert why in refusal.why


def test_one_of_ours_that_is_none_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="there is a cause"):
        admit([OURS, OURS], [])


def test_every_one_of_ours_would_be_let_in() -> None:
    assert {id: list(problems(entry)) for id, entry in catalogue().items() if list(problems(entry))} == {}


def test_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_cause.py").write_text(
        "import msgspec\nfrom whystall.causes.catalogue import burst\n"
        "CAUSE = msgspec.structs.replace(burst.CAUSE, id='their_cause')\n"
    )
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ntheirs = their_cause\nbroken = their_cause:NOTHING\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    try:
        found = admit([OURS], [one for one in installed() if one.dist is not None and one.dist.name == "their-package"])
    finally:
        sys.modules.pop("their_cause", None)
    assert list(found.causes) == ["burst", "their_cause"]
    assert [one.name for one in found.refused] == ["broken of their-package"]


def test_a_diagnosis_tells_of_a_refused_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "refused", lambda: (Refusal("bad of their-package", "it has no why"),))
    found = diagnose(recording_of({"phases": [{"seconds": 20, "running": 4, "rate": 2.0}]})).diagnosis
    (told,) = [one for one in found.warnings if one.id == "plugin_refused"]
    assert told.text.en == "the plugin bad of their-package was refused: it has no why"


def test_the_example_of_the_docs_is_let_in() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "plugins.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    found = admit([], [Plugin(names["CAUSE"], "our_gateway")])
    assert (list(found.causes), found.refused) == (["our_gateway"], ())
