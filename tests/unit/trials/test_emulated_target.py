"""What an emulated server makes of the flags that it is started with."""

from __future__ import annotations

import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Serving
from whystall.errors import UsageError
from whystall.trials.emulated_target import EmulatedTarget, with_arguments
from whystall.trials.lab.treatable import FURTHER

PROFILE = load_profile("h100-32b")
ROOMY = Serving(options=EngineOptions(num_gpu_blocks=PROFILE.kv_blocks), profile=PROFILE)


def started(*arguments: str) -> Serving:
    return with_arguments(ROOMY, ROOMY, arguments)


def test_kv_in_8_bits_is_twice_the_blocks_and_half_the_reads() -> None:
    fp8 = started("--kv-cache-dtype", "fp8")
    assert fp8.options.num_gpu_blocks == 2 * PROFILE.kv_blocks
    assert fp8.profile.decode_context_s == PROFILE.decode_context_s / 2
    assert fp8.profile.mixed_context_s == PROFILE.mixed_context_s / 2
    assert fp8.profile.floor_s == PROFILE.floor_s  # the weights are as they were
    assert started("--kv-cache-dtype", "auto").options == ROOMY.options


def test_an_override_of_the_blocks_stays_what_it_is() -> None:
    both = started("--kv-cache-dtype", "fp8", "--num-gpu-blocks-override", "1500")
    assert both.options.num_gpu_blocks == 1500
    assert both.profile.kv_token_bytes == PROFILE.kv_token_bytes / 2


def test_a_larger_share_of_the_memory_is_more_blocks() -> None:
    more = started("--gpu-memory-utilization", "0.95").options.num_gpu_blocks - PROFILE.kv_blocks
    assert more == pytest.approx(0.03 * PROFILE.memory_bytes / (16 * PROFILE.kv_token_bytes), abs=1)
    with pytest.raises(UsageError, match="not in"):
        started("--gpu-memory-utilization", "95")
    with pytest.raises(UsageError, match="No available memory"):
        started("--gpu-memory-utilization", "0.3")


def test_a_flag_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="unrecognized"):
        started("--swap-space", "4")


def test_its_log_says_what_the_cache_is_made_of() -> None:
    serving = started("--kv-cache-dtype", "fp8")
    deployment = EmulatedTarget(serving, ROOMY).deployment
    lines = "\n".join(deployment.log.recent)
    assert 'cache_dtype="fp8"' in deployment.page()
    assert "kv_cache_dtype=fp8" in lines
    assert f"{2 * PROFILE.kv_blocks * 16:,} tokens" in lines


async def test_a_deployment_in_the_middle_of_a_look_restarts_it() -> None:
    scene = next(scene for scene in FURTHER if scene.cause == "config_regression")
    target = scene.target()
    scene.look_begins(target)
    target.let_run(scene.deployed_s - 1)
    assert target.arguments == ()
    target.let_run(2.0)
    assert target.arguments == ("--max-num-seqs", "8", "--no-enable-prefix-caching")
    assert target.deployment.serving.options.max_num_seqs == 8
