"""The names that a query asks for are those that the dialects read."""

import pytest

from whystall.sources.dialects import describe, entries, quantity
from whystall.sources.dialects.page_names import STYLES, page_names


@pytest.mark.parametrize("style", STYLES)
def test_every_name_leads_back_to_its_quantity(style):
    for entry in entries():
        if entry.type in ("gauge", "counter"):
            assert {quantity(name).name for name in page_names(entry, "value", style)} == {entry.name}
        if entry.type == "histogram":
            assert {quantity(name).part for name in page_names(entry, "bucket", style)} == {"bucket"}


def test_old_names_come_after_the_new_one_and_ray_has_its_prefix():
    usage = describe("kv_cache_usage_perc")
    assert page_names(usage) == ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    assert page_names(describe("num_preemptions"), style="ray")[:2] == (
        "ray_vllm_num_preemptions_total",
        "ray_vllm_num_preemptions",
    )
    assert page_names(describe("process_cpu_seconds"), style="ray") == ("process_cpu_seconds_total",)
