"""What names and servers are named for."""

import pytest

from whystall.sources.files.ticket.document import Ticket
from whystall.sources.files.ticket.features import named_features, part_of, suspect_of, two_versions


def test_words_name_a_feature():
    assert named_features("tps_with_lora") == {"lora"}
    assert named_features("eagle_json_ms") == {"speculative", "structured_output"}
    assert named_features("colour") == set()


@pytest.mark.parametrize(
    ("name", "feature"),
    [("_nccl_us_", "link"), ("_detokenize_ms_", "frontend"), ("_host_gap_ms_", "engine_loop"), ("_attention_", "")],
)
def test_parts_of_a_step(name, feature):
    assert part_of(name) == feature


@pytest.mark.parametrize("version", ["0.23 good; 0.24 bad", "0.24 -> 0.28", "0.3.0 vs 0.4.2", "torch 2.10 vs 2.9"])
def test_two_versions(version):
    assert two_versions(version)
    assert not two_versions("0.10.1 V1")


def test_a_server_with_one_costly_thing_is_suspected_of_it():
    assert suspect_of(Ticket(symptoms={}, flags=("--enforce-eager",))) == "eager"
    assert suspect_of(Ticket(symptoms={}, workload={"dataset": "MMVU video"})) == "multimodal"
    assert suspect_of(Ticket(symptoms={}, engine="vllm + NIXL", version="0.9.x")) == "pd"
    assert suspect_of(Ticket(symptoms={})) == ""
