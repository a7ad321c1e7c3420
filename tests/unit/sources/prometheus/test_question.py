import pytest

from whystall.errors import UsageError
from whystall.sources.prometheus.question import is_question, parse_question


def test_labels_become_matchers_of_a_selector() -> None:
    asked = parse_question("prometheus+http://prom:9090/base?job=vllm&namespace=a%22b")
    assert asked.address.base == "http://prom:9090/base"
    assert asked.matchers == 'job="vllm",namespace="a\\"b"'
    assert asked.selector().endswith(',job="vllm",namespace="a\\"b"}')
    assert asked.end is None


@pytest.mark.parametrize("query", ['{job="vllm"}', 'vllm:num_requests_running{job="vllm"}', '{job="vllm",}'])
def test_a_selector_is_taken_as_it_is(query: str) -> None:
    assert parse_question(f"prometheus+https://p?query={query}").matchers == 'job="vllm"'


def test_all_servers_without_a_selector() -> None:
    assert parse_question("prometheus+http://p:9090").matchers == ""


def test_the_end_of_the_time() -> None:
    assert parse_question("prometheus+http://p?end=1800000000.5").end == 1800000000.5
    assert parse_question("prometheus+http://p?end=2026-11-30T03:00:00Z").end == 1796007600.0


@pytest.mark.parametrize(
    "target",
    [
        "prometheus+http://p?query=rate(x[5m])",
        "prometheus+http://p?query=",
        "prometheus+http://p?bad-name=x",
        "prometheus+http://p?end=yesterday",
        "prometheus+http://p?justaword",
        "prometheus+http://:9090x",
    ],
)
def test_what_is_no_question_is_refused_by_name(target: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_question(target)
    assert caught.value.hint


def test_other_targets_are_none() -> None:
    assert is_question("prometheus+https://p")
    assert not is_question("http://p:8000")
    assert not is_question("folder/prometheus+http")
