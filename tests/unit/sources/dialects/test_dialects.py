"""Every vLLM name from 0.5 to 0.32, through Ray too, stands for the right quantity."""

import gzip
import re

import pytest

from whystall.model.recording import SeriesKey
from whystall.sources.dialects import (
    Quantity,
    VersionRange,
    describe,
    entries,
    guess_version,
    quantity,
    shadowed,
    unknown_names,
)
from whystall.sources.exposition import PageParser


@pytest.mark.parametrize(
    ("raw", "name", "part"),
    [
        ("vllm:num_requests_running", "num_requests_running", "value"),
        ("vllm:gpu_cache_usage_perc", "kv_cache_usage_perc", "value"),
        ("vllm:generation_tokens_total", "generation_tokens", "value"),
        ("vllm:generation_tokens", "generation_tokens", "value"),
        ("vllm:generation_tokens_created", "generation_tokens", "created"),
        ("vllm:iteration_tokens_total_bucket", "iteration_tokens_total", "bucket"),
        ("vllm:iteration_tokens_total_sum", "iteration_tokens_total", "sum"),
        ("vllm:iteration_tokens_total_created", "iteration_tokens_total", "created"),
        ("ray_vllm_iteration_tokens_total_count", "iteration_tokens_total", "count"),
        ("ray_vllm_generation_tokens_total", "generation_tokens", "value"),
        ("ray_vllm_time_to_first_token_seconds_bucket", "time_to_first_token_seconds", "bucket"),
        ("vllm:time_per_output_token_seconds_bucket", "inter_token_latency_seconds", "bucket"),
        ("vllm:request_time_per_output_token_seconds_sum", "request_time_per_output_token_seconds", "sum"),
        ("vllm:gpu_prefix_cache_queries_total", "prefix_cache_queries", "value"),
        ("vllm:gpu_prefix_cache_hits_total", "prefix_cache_hits", "value"),
        ("vllm:time_in_queue_requests_sum", "request_queue_time_seconds", "sum"),
        ("vllm:kv_offload_total_bytes_total", "kv_offload_total_bytes", "value"),
        ("vllm:spec_decode_num_accepted_tokens_per_pos_total", "spec_decode_num_accepted_tokens_per_pos", "value"),
        ("http_requests_total", "http_requests", "value"),
        ("http_request_size_bytes_sum", "http_request_size_bytes", "sum"),
        ("process_cpu_seconds_total", "process_cpu_seconds", "value"),
        ("process_start_time_seconds", "process_start_time_seconds", "value"),
        ("python_gc_collections_total", "python_gc_collections", "value"),
    ],
)
def test_raw_names(raw, name, part):
    assert quantity(raw) == Quantity(name, part)


@pytest.mark.parametrize(
    "raw", ["vllm:num_requests_sleeping", "up", "", "vllm:", "sglang:gen_throughput", "node_load1"]
)
def test_names_of_no_table(raw):
    assert quantity(raw) is None


def reference_names(shared):
    """Every full `vllm:` name in sections 1.2 to 1.7 of the reference."""
    text = (shared / "reference/vllm.md").read_text()
    section = text[text.index("## 1.2 Gauges") : text.index("# 2. Log lines")]
    found = set(re.findall(r"`vllm:([a-z0-9_]+)(?=[`{])", section))
    return {name for name in found if not name.endswith("_")}  # those continue in braces


def test_the_tables_have_every_name_of_the_reference(shared):
    names = reference_names(shared)
    assert len(names) > 70
    missing = [n for n in names if not any(quantity(f"vllm:{n}{end}") for end in ("", "_bucket", "_total"))]
    assert missing == []


def test_the_tables_know_all_of_every_recorded_page(shared):
    pages = [path.read_bytes() for path in sorted(shared.glob("samples/vllm-0.32-cpu/*.prom"))]
    for path in sorted(shared.glob("recordings/*/metrics.prom.gz")):
        pages.append(gzip.decompress(path.read_bytes()).split(b"# scrape ")[-1].partition(b"\n")[2])
    assert len(pages) >= 21
    for page in pages:
        parser = PageParser()
        parser.parse(page)
        assert unknown_names(parser.keys) == ()
        assert [key.name for key in parser.keys if quantity(key.name) is None] == []


def test_types_agree_with_the_pages(shared):
    for path in sorted(shared.glob("samples/vllm-0.32-cpu/*.prom")):
        page = PageParser().parse(path.read_bytes())
        for name, kind in page.types.items():
            entry = describe(name)
            if entry is not None and quantity(name) != Quantity(entry.name, "created"):
                assert (name, entry.type) == (name, kind)


def test_unknown_names_are_listed_once():
    keys = [SeriesKey("vllm:brand_new", (("a", str(k)),)) for k in range(3)]
    assert unknown_names([*keys, SeriesKey("up"), SeriesKey("vllm:num_requests_running"), SeriesKey("ray_vllm_x")]) == (
        "ray_vllm_x",
        "vllm:brand_new",
    )


def test_an_old_name_beside_the_new_one_is_left_out():
    both = ["vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc", "vllm:time_per_output_token_seconds_sum"]
    assert shadowed(both) == {"vllm:gpu_cache_usage_perc"}
    assert shadowed(["vllm:gpu_cache_usage_perc"]) == frozenset()


@pytest.mark.parametrize(
    ("names", "range_"),
    [
        (["vllm:num_requests_swapped", "vllm:gpu_cache_usage_perc"], VersionRange("", "0.9.1")),
        (["vllm:kv_cache_usage_perc", "vllm:time_per_output_token_seconds_sum"], VersionRange("0.9.2", "0.14.1")),
        (["vllm:kv_cache_usage_perc", "vllm:inter_token_latency_seconds_sum"], VersionRange("0.10.2", "0.15.1")),
        (["vllm:avg_prompt_throughput_toks_per_s"], VersionRange("", "0.6.6")),
        (["process_cpu_seconds_total"], VersionRange("", "")),
        ([], VersionRange("", "")),
    ],
)
def test_the_version_by_its_names(names, range_):
    assert guess_version(names) == range_


def test_the_version_of_recorded_pages(shared):
    parser = PageParser()
    parser.parse((shared / "samples/vllm-0.32-cpu/metrics_single.prom").read_bytes())
    assert guess_version(key.name for key in parser.keys) == VersionRange("0.32", "")


def test_describe_takes_any_name():
    for name in (
        "kv_cache_usage_perc",
        "vllm:kv_cache_usage_perc",
        "gpu_cache_usage_perc",
        "ray_vllm_kv_cache_usage_perc",
    ):
        assert describe(name).name == "kv_cache_usage_perc"
    assert describe("vllm:request_queue_time_seconds_bucket").unit == "s"
    assert describe("time_to_first_token_seconds").type == "histogram"
    assert describe("nonsense") is None


def test_every_entry_is_said_in_two_languages():
    names = [entry.name for entry in entries()]
    assert len(names) == len(set(names))
    for entry in entries():
        assert entry.text.en.endswith(".")
        assert re.search("[一-鿿]", entry.text.zh), entry.name
        assert entry.unit
