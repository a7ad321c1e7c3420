"""What the real server refuses at its start is refused by the emulated one, by name."""

import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.errors import UsageError


def options(**set_: object) -> EngineOptions:
    return EngineOptions(**{"num_gpu_blocks": 4096, **set_})


@pytest.mark.parametrize(
    ("set_", "named"),
    [
        (
            {"max_num_batched_tokens": 64, "max_num_seqs": 128},
            "max_num_batched_tokens (64) must be at least max_num_seqs",
        ),
        ({"max_num_active_seqs": 300}, "max_num_active_seqs (300) must not be above max_num_seqs (256)"),
        ({"max_num_scheduled_tokens": 9000}, "max_num_scheduled_tokens (9000) must not be above"),
        ({"max_num_queued_reqs": 0}, "max_num_queued_reqs must be at least 1"),
        ({"max_num_queued_tokens": 0}, "max_num_queued_tokens must be at least 1"),
        ({"long_prefill_token_threshold": 20_000}, "long_prefill_token_threshold (20000)"),
        ({"long_prefill_token_threshold": -1}, "long_prefill_token_threshold (-1)"),
        ({"watermark": 1.0}, "watermark"),
        ({"max_num_seqs": 0}, "max_num_seqs must be at least 1"),
        ({"num_gpu_blocks": 0}, "num_gpu_blocks must be at least 1"),
        ({"enable_chunked_prefill": False}, "without chunked prefill a prompt must fit one step"),
        ({"max_model_len": 100_000}, "needs more KV blocks"),
    ],
)
def test_a_start_that_vllm_refuses(set_, named):
    with pytest.raises(UsageError) as refused:
        options(**set_).check_start()
    assert named in refused.value.message
    assert refused.value.hint.count("--") >= 1 or "max-model-len" in refused.value.hint


@pytest.mark.parametrize(
    "set_",
    [{}, {"max_num_batched_tokens": 256}, {"max_num_active_seqs": 256}, {"long_prefill_token_threshold": 16_384}],
)
def test_a_start_that_vllm_allows(set_):
    assert options(**set_).check_start().num_gpu_blocks == 4096


def test_limits_that_were_inferred_may_be_unlike_a_start():
    """A what-if plays a server's limits as they were seen; seats that were never full are not known."""
    assert options(max_num_batched_tokens=64).check().max_num_batched_tokens == 64
