"""What the engine was started with: the scheduler's and the cache's knobs, named as vLLM names them."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.errors import UsageError

Policy = Literal["fcfs", "priority"]


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs of one engine. Counts are requests, tokens or blocks; None means not set.

    ``num_gpu_blocks`` counts the null block, as ``cache_config_info`` does: one block fewer can hold tokens.
    """

    num_gpu_blocks: int
    block_size: int = 16
    max_model_len: int = 16384
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_num_scheduled_tokens: int | None = None
    max_num_active_seqs: int | None = None
    max_num_queued_reqs: int | None = None
    max_num_queued_tokens: int | None = None
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    scheduler_reserve_full_isl: bool = True
    watermark: float = 0.0
    scheduling_policy: Policy = "fcfs"
    async_scheduling: bool = False
    max_loras: int = 0  # adapters that one batch may hold; 0 where LoRA is off

    @property
    def token_budget(self) -> int:
        """Tokens that one step may schedule."""
        limit = self.max_num_scheduled_tokens
        return self.max_num_batched_tokens if limit is None else min(limit, self.max_num_batched_tokens)

    @property
    def seats(self) -> int:
        """Requests that may be in the running batch."""
        limit = self.max_num_active_seqs
        return self.max_num_seqs if limit is None else min(limit, self.max_num_seqs)

    def check(self) -> EngineOptions:
        """Refuse, by name, what the real server refuses at its start. Returns itself.

        Raises UsageError.
        """
        for name in ("num_gpu_blocks", "block_size", "max_model_len", "max_num_seqs", "max_num_batched_tokens"):
            if getattr(self, name) < 1:
                flag = "num-gpu-blocks-override" if name == "num_gpu_blocks" else name.replace("_", "-")
                raise UsageError(f"{name} must be at least 1", f"give --{flag} a positive number")
        self._check_caps()
        if not 0 <= self.watermark < 1:
            raise UsageError("watermark must be in [0, 1)", "leave --watermark at its default 0")
        if not self.enable_chunked_prefill and self.max_num_batched_tokens < self.max_model_len:
            raise UsageError(
                f"max_num_batched_tokens ({self.max_num_batched_tokens}) is smaller than max_model_len"
                f" ({self.max_model_len}), and without chunked prefill a prompt must fit one step",
                "raise --max-num-batched-tokens or lower --max-model-len",
            )
        if -(-self.max_model_len // self.block_size) > self.num_gpu_blocks - 1:
            raise UsageError(
                f"one request of max_model_len ({self.max_model_len}) needs more KV blocks than there are"
                f" ({self.num_gpu_blocks - 1} of {self.block_size} tokens)",
                "lower --max-model-len or give more blocks",
            )
        return self

    def check_start(self) -> EngineOptions:
        """:meth:`check`, and that a step may hold a token of every seat. Returns itself.

        Apart, because limits that were inferred from a server need not be those that it was started with. Raises UsageError.
        """
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise UsageError(
                f"max_num_batched_tokens ({self.max_num_batched_tokens}) must be at least max_num_seqs ({self.max_num_seqs}):"
                " each running sequence takes a token of a step",
                "raise --max-num-batched-tokens or lower --max-num-seqs",
            )
        return self.check()

    def _check_caps(self) -> None:
        """What caps another knob: positive where it is set, and not above it."""
        caps = {
            "max_num_scheduled_tokens": "max_num_batched_tokens",
            "max_num_active_seqs": "max_num_seqs",
            "max_num_queued_reqs": "",
            "max_num_queued_tokens": "",
        }
        for name, whole in caps.items():
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(
                    f"{name} must be at least 1", f"leave --{name.replace('_', '-')} away to have no such limit"
                )
            if value is not None and whole and value > getattr(self, whole):
                raise UsageError(
                    f"{name} ({value}) must not be above {whole} ({getattr(self, whole)})",
                    f"lower --{name.replace('_', '-')}",
                )
        if not 0 <= self.long_prefill_token_threshold <= self.max_model_len:
            raise UsageError(
                f"long_prefill_token_threshold ({self.long_prefill_token_threshold}) must be between 0 (off) and"
                f" max_model_len ({self.max_model_len})",
                "lower --long-prefill-token-threshold",
            )
