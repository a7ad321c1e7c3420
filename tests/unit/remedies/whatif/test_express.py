"""Each flag becomes what it is in the engine; what the facts do not allow is said."""

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from situations import diagnosis, server
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import Arrival
from whystall.emulator.profiles import load_profile
from whystall.model.engine_state import GpuState
from whystall.model.text import Text
from whystall.remedies.knobs import knobs
from whystall.remedies.situation import situation
from whystall.remedies.whatif.assume import assumed
from whystall.remedies.whatif.express import EXPRESSED, expressed
from whystall.remedies.whatif.load import LoadDraw
from whystall.remedies.whatif.machine import known_profile
from whystall.remedies.whatif.split import overlapped, with_cores, with_graphs
from whystall.remedies.whatif.subject import options_of, overlaps
from whystall.remedies.whatif.variant import Draw, Variant
from whystall.state.arrivals import Kind, Segment

LIMITS = {"num_gpu_blocks": 10000, "block_size": 16, "max_num_seqs": 256, "max_num_batched_tokens": 8192,
          "max_model_len": 16384, "gpu_memory_utilization": 0.9}  # fmt: skip
PROFILE = StepProfile(name="x", floor_s=0.01, token_s=1e-5, max_graph_tokens=512)


def subject(profile=PROFILE, known="h200-8b", flags=None, **configuration):
    state = server(limits=LIMITS, flags=flags or {})
    configuration = {"kv_cache_bytes": 10000 * 2.0e6, **configuration}
    state = msgspec.structs.replace(state, configuration=msgspec.structs.replace(state.configuration, **configuration))
    case = situation(diagnosis("kv_capacity"), state)
    machine = SimpleNamespace(profile=profile, known=load_profile(known) if known else None)
    options, _ = options_of(case)
    return SimpleNamespace(case=case, state=state, machine=machine, options=options)


def draw(cause="", profile=PROFILE):
    return Draw(3, profile, load=None, cause=cause)


def blocks(one, **change):
    found = expressed(one, change)
    assert isinstance(found, Variant), found
    return found.options.num_gpu_blocks


def test_every_knob_of_the_table_is_known():
    assert set(EXPRESSED) <= set(knobs())


def test_options_are_the_servers_own():
    options = subject().options
    assert (options.num_gpu_blocks, options.max_num_seqs, options.max_num_batched_tokens) == (10000, 256, 8192)
    assert options.enable_prefix_caching
    assert options.async_scheduling


def test_fp8_doubles_the_pool_and_reads_less():
    one = subject()
    found = expressed(one, {"kv_cache_dtype": "fp8"})
    assert found.options.num_gpu_blocks == 20000
    reads = msgspec.structs.replace(PROFILE, decode_context_s=1e-8)
    assert 0.5e-8 <= found.profile(reads, draw()).decode_context_s <= 0.8e-8
    fixed = subject(flags={"num_gpu_blocks_override": "10000"})
    assert blocks(fixed, kv_cache_dtype="fp8") == 10000


def test_bytes_make_blocks():
    one = subject()
    assert blocks(one, kv_cache_memory_bytes="4000000000") == 2000
    assert blocks(one, num_gpu_blocks_override="1234") == 1234
    assert blocks(one, block_size="32") == 5000
    share = blocks(one, gpu_memory_utilization="0.95")
    assert share == pytest.approx(10000 + 0.05 * load_profile("h200-8b").memory_bytes / 2e6, abs=1)
    assert isinstance(expressed(subject(known=None), {"gpu_memory_utilization": "0.95"}), Text)


def test_without_chunks_the_budget_grows_to_the_longest_prompt():
    found = expressed(subject(), {"enable_chunked_prefill": "false"})
    assert not found.options.enable_chunked_prefill
    assert found.options.max_num_batched_tokens == 16384


def test_seats_that_nobody_set_shrink_with_the_budget():
    assert expressed(subject(), {"max_num_batched_tokens": "128"}).options.max_num_seqs == 128
    kept = expressed(subject(flags={"max_num_seqs": "256"}), {"max_num_batched_tokens": "128"})
    assert kept.options.max_num_seqs == 256  # the start-up rules refuse that


def test_a_pool_too_small_for_one_request_is_refused():
    found = expressed(subject(), {"num_gpu_blocks_override": "100"})
    assert isinstance(found, Text)
    assert "would not start" in found.en


def test_caching_turned_on_cannot_be_predicted_but_off_can():
    off = subject(flags={"enable_prefix_caching": "false"}, prefix_caching=False)
    assert isinstance(expressed(off, {"enable_prefix_caching": "true"}), Text)
    found = expressed(subject(), {"enable_prefix_caching": "false"})
    assert not found.options.enable_prefix_caching


def test_caching_turned_on_again_has_what_it_had_before_the_restart():
    off = subject(flags={"enable_prefix_caching": "false"}, prefix_caching=False)
    half = np.arange(len(off.state.dt)) < 10
    seen = {"prefix_queries": np.where(half, 1000.0, 0.0), "prefix_hits": np.where(half, 400.0, 0.0)}
    off.state = msgspec.structs.replace(off.state, restarts=(float(off.state.t_end[10]),), **seen)
    found = expressed(off, {"enable_prefix_caching": "true"})
    assert found.options.enable_prefix_caching
    loop = Segment(0.0, 10.0, 4, (Arrival(1.0, 500, 10),), (Kind(1000, 10),))
    (shared,) = found.load(LoadDraw(0.0, (loop,), 1)).segments
    assert shared.kinds == (Kind(1000, 10, 400),)
    assert shared.arrivals[0].prefix_tokens == 200


def test_seats_without_the_flag_are_the_least_of_the_defaults():
    few = subject(flags={"max_num_seqs": "8"})
    found = expressed(few, {"max_num_seqs": ""})
    assert found.options.max_num_seqs == 256
    assert "256" in found.warnings[0].en
    assert isinstance(expressed(subject(device="cpu"), {"max_num_seqs": ""}), Text)


def test_graphs_take_the_launches_away():
    eager = msgspec.structs.replace(PROFILE, max_graph_tokens=0)
    known = load_profile("h200-1b-eager")
    found = with_graphs(eager, draw("launch_bound"), known, True, 512)
    assert found.floor_s == known.floor_s
    assert found.host_s < 0.003
    assert found.max_graph_tokens == 512
    bound_by_gpu = with_graphs(eager, draw(""), known, True, 512)
    assert bound_by_gpu.floor_s == eager.floor_s


def test_steps_that_overlap_cost_the_longer_part():
    apart = overlapped(PROFILE, draw(), None, overlap=False)
    assert apart.floor_s + apart.host_s == pytest.approx(PROFILE.floor_s)
    together = overlapped(PROFILE, draw("engine_loop_cpu"), None, overlap=True)
    assert max(together.floor_s, together.host_s) == pytest.approx(PROFILE.floor_s)


def test_cores_speed_up_the_hosts_part_only():
    found = with_cores(PROFILE, draw("cpu_starved"), None, True, 10.0)
    assert PROFILE.floor_s * 0.1 <= found.floor_s < PROFILE.floor_s
    same = with_cores(PROFILE, draw(""), None, True, 10.0)
    assert same.floor_s == PROFILE.floor_s


def test_more_ranks_split_the_work_and_add_links():
    one = subject(profile=load_profile("h200-8b"))
    found = expressed(one, {"tensor_parallel_size": "2"})
    changed = found.profile(one.machine.profile, draw(profile=one.machine.profile))
    assert one.machine.profile.floor_s / 2 <= changed.floor_s < one.machine.profile.floor_s
    assert changed.link_s > 0
    assert found.options.num_gpu_blocks > 2 * 10000
    assert isinstance(expressed(subject(known="cpu-l8"), {"tensor_parallel_size": "2"}), Text)


def test_without_the_host_its_cores_are_not_predicted():
    one = subject()
    assert isinstance(assumed(one, Variant(one.options), {"host_cores": "8"}), Text)
    replicas = assumed(one, Variant(one.options), {"replicas": "3"})
    assert replicas.replicas == 3


def test_profiles_are_found_by_gpu_and_model():
    state = server(limits=LIMITS)

    def named(gpu, model, **more):
        configuration = msgspec.structs.replace(state.configuration, gpu_name=gpu, model=model, **more)
        found = known_profile(configuration)
        return found and (found.name, found.origin)

    assert named("NVIDIA H200", "meta-llama/Llama-3.1-8B-Instruct") == ("h200-8b", "recording")
    assert named("NVIDIA H100 80GB HBM3", "Qwen/Qwen3-32B", tensor_parallel=4) == ("h100-32b-tp4-nvlink", "data sheet")
    assert named("NVIDIA A100-SXM4-80GB", "x", weights_bytes=16e9) == ("a100-80gb-8b", "data sheet")
    assert named("NVIDIA T4", "x-8b") is None
    assert named("", "x-8b") is None


def test_a_cpu_never_overlaps_its_steps():
    one = subject(device="cpu")
    assert not overlaps(one.case)
    assert isinstance(expressed(one, {"enforce_eager": "true"}), Text)


def test_a_gpu_seen_tells_its_memory():
    one = subject()
    gpu = GpuState(*[None] * 7, 1.0, 1, "x", 5e10, 8e10)
    one.state = msgspec.structs.replace(one.state, gpu=gpu)
    assert blocks(one, gpu_memory_utilization="0.95") == pytest.approx(10000 + 0.05 * 8e10 / 2e6, abs=1)
