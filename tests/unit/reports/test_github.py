import findings
from whystall.reports import render
from whystall.reports.github import MOST_CHARACTERS


def test_the_details_are_folded_and_the_answer_is_not():
    text = render(findings.several(), "github")
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.index("KV cache too small") < text.index("<details>")
    assert text.index("Evidence") > text.index("<details>")


def test_it_is_cut_before_github_refuses_it():
    whole = render(findings.hostile("|" * 5000), "github")
    assert len(whole) < MOST_CHARACTERS
    assert "<details>" not in whole


def test_a_server_without_causes_has_no_empty_table():
    assert "|" not in render(findings.healthy(), "github").partition("<details>")[0]
