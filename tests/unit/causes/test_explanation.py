import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.causes.catalogue import catalogue
from whystall.causes.explanation import SHORT_NAMES, explain, words
from whystall.errors import UsageError


@pytest.mark.parametrize("word", words())
def test_every_word_on_offer_is_explained(word):
    found = explain(word)
    assert (found.cause is None) != (found.metric is None)


@pytest.mark.parametrize("id", sorted(catalogue()))
def test_a_cause_is_explained_in_both_languages_without_placeholders(id):
    cause = explain(id).cause
    for step in cause.steps:
        for claim in (step.claim.en, step.claim.zh):
            assert "{" not in claim
            assert claim.strip(" :：…")
    assert cause.what.zh != cause.what.en
    assert set(cause.weights) >= {name for step in cause.steps for name in step.evidence if name in cause.weights}


@pytest.mark.parametrize("short", sorted(SHORT_NAMES))
def test_short_names_lead_to_a_metric(short):
    assert explain(short.upper()).metric.name == SHORT_NAMES[short]


def test_an_old_name_leads_to_the_metric_of_today():
    metric = explain("vllm:gpu_cache_usage_perc").metric
    assert metric.name == "kv_cache_usage_perc"
    assert "vllm:gpu_cache_usage_perc" in [name.name for name in metric.names]


def test_dashes_and_capitals_do_not_matter():
    assert explain("KV-Capacity").cause.id == "kv_capacity"


@pytest.mark.parametrize(
    ("word", "offered"),
    [("kv_capacty", "kv_capacity"), ("num_request_waiting", "num_requests_waiting"), ("burts", "burst")],
)
def test_an_unknown_word_is_answered_with_the_nearest(word, offered):
    with pytest.raises(UsageError) as caught:
        explain(word)
    assert offered in caught.value.hint
    assert caught.value.exit_code == 2


@given(st.text())
def test_any_word_is_explained_or_refused_with_a_hint(word):
    assert _answer(word)


def _answer(word):
    try:
        return explain(word).kind
    except UsageError as error:
        return error.hint
