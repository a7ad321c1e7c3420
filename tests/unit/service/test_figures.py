import math

import pytest

from whystall.service.figures import Index, increase, mean_over
from whystall.service.window import dense
from whystall.sources.exposition import PageParser

PAGE = """vllm:num_requests_running{engine="0"} 3
vllm:num_requests_waiting{engine="0"} 1
vllm:kv_cache_usage_perc{engine="0"} 0.5
vllm:num_requests_running{engine="1"} 7
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"} 4
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 10
vllm:time_to_first_token_seconds_sum{engine="0"} 2.5
vllm:time_to_first_token_seconds_count{engine="0"} 10
http_requests_total{status="2xx"} 90
http_requests_total{status="5xx"} 10
"""


def read(text: str, label: str, t: float = 1.0):
    parser = PageParser()
    page = parser.parse(text.encode())
    index = Index(parser.keys)
    return index, index.read(label, t, dense(page, len(parser.keys)))


def test_each_engine_has_its_own_figures_and_the_servers():
    index, figures = read(PAGE, "0")
    assert index.engines() == ["0", "1"]
    assert (figures.running, figures.waiting, figures.kv_ratio) == (3, 1, 0.5)
    assert (figures.answers, figures.errors) == (100, 10)
    assert figures.buckets["ttft"][0].tolist() == [0.1]
    assert read(PAGE, "1")[1].running == 7


def test_what_is_not_on_the_page_is_not_zero():
    assert math.isnan(read(PAGE, "1")[1].kv_ratio)


def test_means_are_of_what_came_between():
    before = read(PAGE, "0")[1]
    after = read(
        PAGE.replace('_sum{engine="0"} 2.5', '_sum{engine="0"} 4.5').replace(
            'count{engine="0"} 10', 'count{engine="0"} 14'
        ),
        "0",
    )[1]
    assert mean_over(before, after, "ttft") == pytest.approx(0.5)
    assert math.isnan(mean_over(before, before, "ttft"))


def test_a_counter_that_fell_began_anew():
    assert increase(100, 130) == 30
    assert increase(100, 5) == 5
