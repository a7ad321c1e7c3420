"""The dashboard's files: no markup from data, nothing from elsewhere, and a word for everything that is said."""

import re
from pathlib import Path

import pytest

from whystall.reports.phrases import PHRASES

WEB = Path(__file__).parents[3] / "src" / "whystall" / "service" / "web"
SCRIPTS = sorted(WEB.glob("*.js"))
WORD = re.compile(r'^  (\w+): \["((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\],$', re.MULTILINE)
SAID = re.compile(r'\bsay(?:Or)?\("(\w+)"')


def words() -> dict[str, tuple[str, str]]:
    found = {key: (en, zh) for key, en, zh in WORD.findall((WEB / "words.js").read_text("utf-8"))}
    assert len(found) > 150
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_of_text(script):
    dangerous = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc|setTimeout\(\""
    )
    assert re.findall(dangerous, script.read_text("utf-8")) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_phrase_that_is_said_exists(script):
    known = {*words(), *PHRASES}
    assert [key for key in SAID.findall(script.read_text("utf-8")) if key not in known] == []


def test_every_word_is_there_in_both_languages_with_the_same_values():
    place = re.compile(r"\{\w+\}")
    for key, (en, zh) in words().items():
        assert zh, key
        assert sorted(place.findall(en)) == sorted(place.findall(zh)), key


def test_no_word_is_left_that_nobody_says():
    text = "\n".join(path.read_text("utf-8") for path in SCRIPTS if path.name != "words.js")
    made = (
        "verdict_",
        "state_",
        "kind_",
        "sort_",
        "spark_",
        "step_",
        "advice_",
        "m_",
        "assume_",
        "trial_",
        "guard_",
        "link_",
    )
    unsaid = [key for key in words() if not key.startswith(made) and f'"{key}"' not in text]
    live = {"live", "lost", "off", "connecting"}
    assert [key for key in unsaid if key not in live | nav()] == []


def nav() -> set[str]:
    return {"fleet", "incidents", "traces", "cases", "whatif"}


def test_the_page_has_no_inline_code_and_nothing_from_elsewhere():
    page = (WEB / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", page) == []
    for path in WEB.iterdir():
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert [url for url in re.findall(r"https?://[\w.-]+", text) if url != "http://host"] == [], path.name


def test_scripts_stay_short():
    assert [path.name for path in SCRIPTS if path.read_text("utf-8").count("\n") >= 400] == []
