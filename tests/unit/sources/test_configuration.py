"""The configuration from every source, which source wins, and that nothing is guessed."""

import json

import numpy as np
import pytest

from started_servers import ARGS, ENGINE, NEW, limits, read, seen
from whystall.model.recording import Recording
from whystall.model.target import Target
from whystall.sources.arguments import read_arguments
from whystall.sources.configuration import blocks_by_engine, read_configuration
from whystall.sources.exposition import PageParser
from whystall.sources.files.recording import read_recording
from whystall.sources.table import TableBuilder

INFO = {
    "vllm_config": {
        "scheduler_config": {
            "max_num_seqs": 128,
            "max_num_queued_reqs": None,
            "policy": "priority",
            "async_scheduling": False,
        },
        "model_config": {"max_model_len": 4096},
        "lora_config": None,
        "speculative_config": {"method": "ngram"},
        "parallel_config": {"_api_process_count": 2},
    }
}


def test_server_info_in_json_wins():
    found = read(
        page='vllm:cache_config_info{engine="0",num_gpu_blocks="100",block_size="16"} 1\n',
        server_info=json.dumps(INFO),
        log=[ARGS, "Using max model len 8192"],
        argv=("vllm", "serve", "m", "--max-num-seqs", "4", "--scheduling-policy", "fcfs"),
        models='{"data":[{"id":"x","root":"/models/x","max_model_len":2048}]}',
    )
    assert limits(found)["max_num_seqs"] == (128, "reported", "server_info")
    assert limits(found)["max_model_len"] == (4096, "reported", "server_info")
    assert limits(found)["num_gpu_blocks"] == (100, "reported", "metrics")
    assert "max_num_queued_reqs" not in limits(found)
    assert (found.scheduling_policy, found.async_scheduling) == ("priority", False)
    assert (found.lora, found.speculative, found.api_server_count) == (False, True, 2)


def test_server_info_in_text():
    body = json.dumps({"vllm_config": ENGINE.partition("config: ")[2]})
    found = read(server_info=body, version='{"version": "0.26.0"}')
    assert (found.version, found.device, found.max_graph_batch) == ("0.26.0", "cuda", 512)
    assert limits(found)["max_num_batched_tokens"] == (8192, "reported", "server_info")
    assert "max_num_seqs" not in limits(found)  # the user's flags were not seen


def test_the_real_server_info(shared):
    found = read(server_info=(shared / "samples/vllm-0.32-cpu/server_info.json").read_text())
    assert {name: value for name, (value, _, _) in limits(found).items()} == {
        "max_num_seqs": 128,
        "max_num_batched_tokens": 2048,
        "num_gpu_blocks": 512,
        "block_size": 128,
        "max_model_len": 4096,
        "kv_cache_tokens": 65536,
        "gpu_memory_utilization": 0.92,
    }
    assert (found.device, found.dtype, found.enforce_eager, found.profiler) == ("cpu", "bfloat16", True, "torch")
    assert (found.speculative, found.lora, found.max_graph_batch) == (False, False, None)


@pytest.mark.parametrize(
    "body", ["", "<html>", "{", "[]", "3", '{"vllm_config": 3}', '{"vllm_config": {"model_config": 3}}', "[" * 100_000]
)
def test_bodies_that_are_none(body):
    found = read(server_info=body, models=body, version="")
    assert (found.model, found.limits, found.speculative) == ("", (), None)


def test_the_models_endpoint():
    found = read(models='{"data":[{"id":"x","root":"/models/x","max_model_len":2048}]}')
    assert limits(found) == {"max_model_len": (2048, "reported", "metrics")}
    assert found.model == "/models/x"


def test_metrics_alone():
    found = read(
        page=NEW + 'vllm:cache_config_info{engine="0",num_gpu_blocks="2500",block_size="16",cache_dtype="auto"} 1\n'
    )
    assert limits(found) == {"num_gpu_blocks": (2500, "reported", "metrics"), "block_size": (16, "reported", "metrics")}
    assert (found.device, found.version, found.flags) == ("", "", {})
    assert (found.speculative, found.lora, found.enforce_eager) == (None, None, None)


def test_blocks_by_engine(shared):
    parser = PageParser()
    builder = TableBuilder(parser)
    builder.add(1.0, parser.parse((shared / "samples/vllm-0.32-cpu/metrics_dp2_multiprocess_lora.prom").read_bytes()))
    recording = Recording(Target("x"), builder.table())
    assert set(blocks_by_engine(recording)) == {"0", "1"}
    assert blocks_by_engine(seen()) == {}


def test_the_configuration_before_a_restart_does_not_count():
    parser = PageParser()
    builder = TableBuilder(parser)
    for t, blocks in ((1.0, 100), (2.0, 100), (3.0, 70)):
        page = f'vllm:cache_config_info{{engine="0",num_gpu_blocks="{blocks}",block_size="16"}} 1\n'
        builder.add(t, parser.parse(page.encode()))
    recording = Recording(Target("x"), builder.table())
    assert blocks_by_engine(recording) == {"0": 70}
    assert limits(read_configuration(recording))["num_gpu_blocks"][0] == 70


def test_several_engines_and_the_fewest_blocks():
    page = "".join(
        f'vllm:cache_config_info{{engine="{k}",num_gpu_blocks="{n}"}} 1\n' for k, n in enumerate((900, 1000, 95))
    )
    assert limits(read(page=page))["num_gpu_blocks"][0] == 95


def test_of_every_recording_what_it_was_started_with(shared):
    truth = json.loads((shared / "recordings/truth.json").read_text())
    for name, said in truth.items():
        recording = read_recording(shared / "recordings" / name)
        found = read_configuration(recording)
        flags = read_arguments(said["argv"])
        for flag in (
            "max_num_seqs",
            "max_num_batched_tokens",
            "max_model_len",
            "max_num_queued_reqs",
            "num_gpu_blocks",
        ):
            asked = flags.get(flag) or flags.get(flag + "_override")
            if asked:
                assert found.limit(flag).value == float(asked), (name, flag)
                assert found.limit(flag).known == "reported"
        cpu = name.startswith("cpu_") and name != "cpu_starved"
        assert found.device == ("cpu" if cpu else "cuda")
        assert found.version == ("0.32.0" if cpu else "0.26.0")
        assert found.enforce_eager == (flags.get("enforce_eager") == "True")
        assert found.prefix_caching == (flags.get("enable_prefix_caching") != "False")
        assert found.chunked_prefill == (flags.get("enable_chunked_prefill") != "False")
        assert found.limit("max_num_seqs") is not None
        assert found.limit("max_num_batched_tokens") is not None
        assert np.isfinite(found.kv_cache_bytes)
        assert blocks_by_engine(recording).keys() == {"0"}
