"""The start-up rules and everything that is offered, against the parser and the configuration of a real vLLM 0.32."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import msgspec
import pytest

from situations import LIMITS, offered, phase, server
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.remedies.knobs import knobs
from whystall.remedies.rules import may_start, spelling, spelling_off
from whystall.remedies.treatments import treatments

SCRIPT = Path(__file__).resolve().parents[2] / "golden" / "vllm_starts.py"
PYTHON = os.environ.get("WHYSTALL_VLLM_PYTHON", "")
VERSION = "0.32.0"
MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 640,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 4096,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip
QUIET = {
    "VLLM_TARGET_DEVICE": "cpu", "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(not PYTHON, reason="needs the vllm-cpu package (its Python in $WHYSTALL_VLLM_PYTHON)"),
]
# As a server on two cores reports itself when nothing is set.
DEFAULTS = {"max_num_seqs": 128, "max_num_batched_tokens": 2048, "max_model_len": 8192}
CHANGES = [
    {"--max-num-seqs": "9000"},
    {"--max-num-seqs": "512"},
    {"--max-num-seqs": "0"},
    {"--max-num-batched-tokens": "100"},
    {"--max-num-batched-tokens": "100", "--max-num-seqs": "128"},
    {"--max-num-batched-tokens": "16k"},
    {"--no-enable-chunked-prefill": "true"},
    {"--no-enable-chunked-prefill": "true", "--max-num-batched-tokens": "1024"},
    {"--max-num-active-seqs": "512"},
    {"--max-num-active-seqs": "64"},
    {"--long-prefill-token-threshold": "100000"},
    {"--long-prefill-token-threshold-adaptive": "true"},
    {"--watermark": "1"},
    {"--watermark": "0.05"},
    {"--max-lora-rank": "24"},
    {"--kv-cache-dtype": "int2"},
    {"--swap-space": "8"},
    {"--max-num-partial-prefills": "2"},
    {"--enable-lora": "true", "--max-loras": "4", "--max-cpu-loras": "2"},
    {"--kv-transfer-config": '{"kv_connector": "NixlConnector"}'},
    {"--gpu-memory-utilization": "1.1"},
    {"--gpu-memory-utilization": "0"},
    {"--stream-interval": "0"},
    {"--stream-interval": "4"},
    {"--max-model-len": "auto"},
    {"--data-parallel-external-lb": "true"},
    {"--scheduling-policy": "sjf"},
    {"--scheduling-policy": "priority"},
    {"--tensor-parallel-size": "3"},
    {"--async-scheduling": "true"},
    {"--prefill-schedule-interval": "0"},
    {"--cpu-offload-gb": "-1"},
    {"--max-num-queued-reqs": "16"},
    {"--api-server-count": "2"},
    {"--num-scheduler-steps": "4"},
]


def arguments(flags: dict[str, str], change: dict[str, str] | None = None) -> list[str]:
    """The command line of ``flags`` by knob id, with a change by spelling made to it."""
    line: dict[str, str] = {}
    for id, value in flags.items():
        switch = knobs()[id].kind == "switch"
        flag = spelling_off(id, VERSION) if switch and value == "False" else spelling(id, VERSION)
        line[str(flag)] = "true" if switch else value
    line |= change or {}
    return [part for flag, value in line.items() if value for part in ([flag] if value == "true" else [flag, value])]


def said(folder: Path, lines: list[list[str]]) -> list[str]:
    """What vLLM has against each command line, "" for nothing."""
    (folder / "config.json").write_text(json.dumps(MODEL))
    done = subprocess.run(
        [PYTHON, str(SCRIPT), str(folder)],
        input=json.dumps(lines), capture_output=True, text=True, timeout=600, check=False, env=os.environ | QUIET,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_rules_are_those_of_the_real_start(tmp_path):
    limits = tuple(Limit(name, float(value), "default") for name, value in DEFAULTS.items())
    running = Configuration(version=VERSION, flags={"model": "m"}, limits=limits, device="cpu", chunked_prefill=True)
    facts = {"num_attention_heads": 4.0}
    ours = [bool(may_start(running, change, facts)) for change in CHANGES]
    theirs = said(tmp_path, [arguments({}, change) for change in CHANGES])
    wrong = [(change, they) for change, we, they in zip(CHANGES, ours, theirs, strict=True) if we != bool(they)]
    assert wrong == []


def drawn(chance: random.Random) -> dict[str, str]:
    """Flags of an operator, of which the real start may refuse some."""
    settings = {
        "max_num_seqs": ["4", "64", "512"],
        "max_num_batched_tokens": ["256", "2048", "8192", "16384"],
        "long_prefill_token_threshold": ["256", "1024"],
        "max_num_active_seqs": ["4", "32"],
        "max_num_queued_reqs": ["6", "64"],
        "num_gpu_blocks_override": ["600"],
        "enable_chunked_prefill": ["False"],
        "enable_prefix_caching": ["False"],
        "async_scheduling": ["False"],
        "stream_interval": ["2"],
        "scheduling_policy": ["priority"],
        "enable_log_requests": ["True"],
        "gpu_memory_utilization": ["0.5", "0.9"],
    }
    return {name: chance.choice(values) for name, values in settings.items() if chance.random() < 0.25}


def started(flags: dict[str, str]):
    """The state of a server with these flags in trouble."""
    given = {name: float(value) for name, value in flags.items() if name in (*DEFAULTS, "gpu_memory_utilization")}
    extra = ("max_num_active_seqs", "max_num_queued_reqs", "long_prefill_token_threshold")
    given |= {name: float(flags[name]) for name in extra if name in flags}
    limits = LIMITS | DEFAULTS | given | {"max_num_seqs": 0, "max_num_batched_tokens": 0}
    budget = given.get("max_num_batched_tokens", 2048.0)
    if flags.get("enable_chunked_prefill") == "False" and "max_num_batched_tokens" not in flags:
        budget = 8192.0
    limits |= {"max_num_batched_tokens": budget, "max_num_seqs": min(given.get("max_num_seqs", 128.0), budget)}
    state = server(
        version=VERSION, device="cpu", gpu_name="", flags=flags, limits=limits,
        chunked_prefill=flags.get("enable_chunked_prefill") != "False",
        prefix_caching=flags.get("enable_prefix_caching") != "False",
        phases=(phase(running=int(min(limits["max_num_seqs"], 60)), kv=0.5, preemptions=2),),
    )  # fmt: skip
    return msgspec.structs.replace(state, rejections=state.finished * 0 + 2.0)


def test_a_real_vllm_takes_everything_that_is_offered(tmp_path):
    chance = random.Random(7)
    setups = [drawn(chance) for _ in range(30)]
    runs = [flags for flags, they in zip(setups, said(tmp_path, list(map(arguments, setups))), strict=True) if not they]
    assert len(runs) >= 15
    found = [
        (flags, remedy.change)
        for flags in runs
        for remedy in offered(started(flags), *sorted(treatments()), budget_full=(1.0, 1.0), prefill_busy=(0.5, 1.0))
        if remedy.change
    ]
    distinct = {json.dumps(one, sort_keys=True): one for one in found}
    assert len(distinct) >= 60
    lines = [arguments(flags, change) for flags, change in distinct.values()]
    refused = [(one, they) for one, they in zip(distinct.values(), said(tmp_path, lines), strict=True) if they]
    assert refused == []
