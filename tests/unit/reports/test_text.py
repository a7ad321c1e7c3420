import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import findings
from whystall.reports import render
from whystall.reports.finding import Finding
from whystall.reports.text import shortened

ANSI = re.compile("\x1b\\[[0-9;]*m")


def test_the_answer_stands_in_the_first_three_lines():
    first, second, third = render(findings.bottleneck(), "text", width=120).splitlines()[:3]
    assert first.startswith("✘ BOTTLENECK  KV blocks are used up: 2,496 of 2,500")
    assert second == "Since 14 s (13 s to 15 s), 14:13:34 UTC; set off by bursts of requests."
    assert third == "Do first: Keep the KV cache in fp8: --kv-cache-dtype fp8 (needs a restart)"


def test_without_a_trigger_it_says_so():
    text = render(findings.hostile("x"), "text", width=120)
    assert "no trigger seen" in text.splitlines()[1]


def test_a_healthy_server_needs_nothing():
    lines = render(findings.healthy(), "text").splitlines()
    assert lines[0].startswith("✔ HEALTHY")
    assert lines[2].startswith("Do first: nothing")


def test_unknown_says_what_would_settle_it():
    found = findings.unknown()
    short = render(found, "text").splitlines()
    assert short[2] == "Do first: watch for longer: --for 120s (a recording: record for longer)"
    longer = msgspec.structs.replace(found.diagnosis, window=findings.WINDOW)
    told = render(msgspec.structs.replace(found, diagnosis=longer), "text").splitlines()
    assert told[2] == "Do first: run beside the server"


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("make", [findings.bottleneck, findings.several, findings.unknown])
def test_no_line_is_wider_than_asked(make, lang, width):
    assert max(cell_len(line) for line in render(make(), "text", lang, width=width).splitlines()) <= width


def test_colour_only_where_it_is_asked_for_and_it_adds_nothing():
    plain, colored = (render(findings.bottleneck(), "text", color=color) for color in (False, True))
    assert not ANSI.search(plain)
    assert ANSI.search(colored)
    assert [line.rstrip() for line in ANSI.sub("", colored).splitlines()] == plain.splitlines()


def test_every_mark_has_its_word():
    text = render(findings.bottleneck(), "text")
    assert "✔ holds" in text
    assert "✘ does not hold" in text
    assert "▲ strongly for" in text


def test_all_sections_are_there():
    text = render(findings.bottleneck(), "text", width=100)
    for part in (
        "So it is not: a slow prefill",
        "running 27 of 256 seats",
        "num_gpu_blocks = 2,500 (reported, log)",
        "inferred",
        "0.926",
        "requests.jsonl with --client",
        "vllm:brand_new_total",
        "2 of 61 scrapes failed",
        "13.5 GiB",
        "TTFT p95 -50% (-60% to -30%)",
        "13.2 s",
    ):
        assert part in text, part


def test_the_other_engines_follow():
    text = render(findings.several(), "text")
    assert "Engines on this page" in text
    assert text.rindex("✔ HEALTHY") > text.index("✘ BOTTLENECK")


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_hostile_text_neither_colours_nor_moves_nor_is_markup(label):
    text = render(findings.hostile(f"[red]{label}\x1b[2J[/red]"), "text")
    assert "\x1b" not in text
    assert not [char for char in text if ord(char) < 0x20 and char != "\n"]


def test_markup_of_the_terminal_library_is_printed_as_it_stands():
    assert "[bold red]x[/]" in render(findings.hostile("[bold red]x[/]"), "text", color=True)


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("short enough", 20, "short enough"),
        ("Raise the seats (restart); ITL rises a little", 40, "Raise the seats (restart) …"),
        ("Give the pool more bytes (fp8 KV cache, a higher share) or less work", 50, "Give the pool more bytes …"),
        ("oneverylongwordwithoutanyend", 12, "oneverylon …"),
        ("提高席位上限（需重启）；ITL 会略升", 26, "提高席位上限（需重启） …"),
    ],
)
def test_a_step_is_cut_where_a_clause_ends(text, width, short):
    assert shortened(text, width) == short
    assert cell_len(short) <= width


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Mn", "Me", "Zl", "Zp"))), st.integers(8, 60)
)
def test_a_shortened_text_fits(text, width):
    assert cell_len(shortened(text, width)) <= width


def test_the_step_takes_one_line_of_80_columns():
    lines = render(findings.bottleneck(), "text").splitlines()
    step = next(at for at, line in enumerate(lines) if line.startswith("Do first"))
    assert lines[step + 1] == ""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_narrow_terminal_loses_neither_the_step_nor_the_labels(lang):
    found = findings.bottleneck()
    narrow = "".join(render(found, "text", lang, width=40).split())
    wide = render(found, "text", lang, width=200).splitlines()
    assert "".join(wide[2].split()) in narrow
    assert found.timeline is not None
    for panel in found.timeline.panels:
        for line in panel.lines:
            if "".join(line.label.in_(lang).split()) in "".join("".join(wide).split()):
                assert line.label.in_(lang).split()[0][:6] in narrow


def _pieces(strengths: list[float]) -> Finding:
    """A bottleneck whose causes cite the last piece of evidence, with one piece a strength."""
    found = findings.bottleneck()
    known = found.diagnosis.evidence[0]
    pieces = tuple(msgspec.structs.replace(known, id=f"piece.{n}", strength=s) for n, s in enumerate(strengths))
    cause = msgspec.structs.replace(found.diagnosis.causes[0], evidence_for=(pieces[-1].id,), evidence_against=())
    diagnosis = msgspec.structs.replace(found.diagnosis, evidence=pieces, causes=(cause,))
    return msgspec.structs.replace(found, diagnosis=diagnosis)


def _shown(text: str) -> list[str]:
    section = text.split("\nEvidence\n")[1]
    return re.findall(r"^  (piece\.\d+)  ", section, flags=re.MULTILINE)


def test_of_the_evidence_the_most_telling_few_those_for_the_causes_first():
    found = _pieces([-1.5, 0.0, *(0.5 + n / 20 for n in range(10)), 0.4])
    short = render(found, "text")
    assert _shown(short) == ["piece.12", *(f"piece.{n}" for n in range(11, 4, -1))]
    assert "5 more: --verbose shows all" in short


def test_all_of_it_where_that_is_asked_for():
    found = _pieces([-1.5, 0.0, *(0.5 + n / 20 for n in range(10)), 0.4])
    assert _shown(render(found, "text", all_evidence=True)) == [f"piece.{n}" for n in range(13)]
