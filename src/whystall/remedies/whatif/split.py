"""A step's time apart: what of it is the GPU's, the host's and the links', by the cause that a draw takes to hold.

The counters tell how long a step took, not who took it. A change that touches only one part (graphs, overlapped steps,
more GPUs, more cores) is predicted from the split, and the split is drawn: by the cause, and within its range.
"""

from __future__ import annotations

import msgspec

from whystall.emulator.engine.profile import StepProfile

from .variant import Draw

# Causes under which the host is what a step waits for, and those under which the links between GPUs are.
HOST = (
    "launch_bound",
    "engine_loop_cpu",
    "cpu_starved",
    "sampler_cpu",
    "structured_output",
    "observability_overhead",
    "gc_pause",
)
LINKS = ("comm_bound", "straggler_rank")
# The GPU's share of a step that waits for the host, and of one that does not, where no profile tells its floor.
_GPU_OF_HOST_BOUND = (0.1, 0.5)
_GPU_OTHERWISE = (0.75, 0.97)
_LINK_SHARE = (0.3, 0.7)
_GRAPH_LAUNCH_S = (0.8e-3, 2e-3)  # scheduling and replaying one graph
_PIECEWISE = 0.5  # of the launches one by one: the data sheets' two constants


class Parts(msgspec.Struct, frozen=True):
    """Seconds of a decode step's fixed part."""

    gpu_s: float
    host_s: float


def parts(profile: StepProfile, draw: Draw, known: StepProfile | None, overlap: bool) -> Parts:
    """The fixed part of ``profile``'s decode step apart; ``known`` gives the GPU's floor where there is one."""
    whole = profile.floor_s
    if profile.host_s > 0 and not overlap:
        return Parts(whole, profile.host_s)  # the log's steps and the page's together told both
    waits = draw.cause in HOST
    share = draw.uniform("gpu share", *(_GPU_OF_HOST_BOUND if waits else _GPU_OTHERWISE))
    gpu = min(known.floor_s, whole) if known and waits else share * whole
    if not overlap:
        return Parts(gpu, whole - gpu)
    return Parts(gpu, whole) if waits else Parts(whole, (1 - share) * whole)


def overlapped(profile: StepProfile, draw: Draw, known: StepProfile | None, overlap: bool) -> StepProfile:
    """The profile with both parts in their places, for an engine whose steps overlap, or no longer do."""
    apart = parts(profile, draw, known, overlap)
    return msgspec.structs.replace(profile, floor_s=apart.gpu_s, host_s=apart.host_s)


def with_graphs(
    profile: StepProfile, draw: Draw, known: StepProfile | None, overlap: bool, largest: int
) -> StepProfile:
    """Steps that launched kernel by kernel, replayed as graphs of up to ``largest`` tokens.

    A prompt's first step keeps the engine's thread while it is launched, and what came meanwhile waits. A page shows
    that as front end; with graphs it is in the steps' own ``host_mixed_s``.
    """
    apart = parts(profile, draw, known, overlap)
    pieces = known.host_mixed_s if known and known.host_mixed_s else _PIECEWISE * apart.host_s
    front = known.front_s if known and known.front_s else profile.front_s * min(pieces / max(apart.host_s, 1e-9), 1.0)
    return msgspec.structs.replace(
        profile,
        floor_s=apart.gpu_s,
        host_s=min(apart.host_s, draw.uniform("graph launch", *_GRAPH_LAUNCH_S)),
        host_mixed_s=min(pieces, apart.host_s),
        front_s=min(front, profile.front_s),
        host_eager_s=apart.host_s,
        max_graph_tokens=largest,
    )


def without_graphs(profile: StepProfile, draw: Draw, launches_s: float) -> StepProfile:
    """Every kernel launched by itself, about ``launches_s`` a step."""
    host = launches_s * draw.uniform("launches", 0.7, 1.4)
    return msgspec.structs.replace(
        profile, host_s=max(profile.host_s, host), host_mixed_s=host, host_eager_s=host, max_graph_tokens=0
    )


def over_ranks(profile: StepProfile, draw: Draw, ratio: float, wider: StepProfile, old_links: bool) -> StepProfile:
    """The work spread over ``ratio`` times as many GPUs; ``wider``, of such a machine, has the links' costs."""
    link = draw.uniform("link", 0.6, 1.8)
    fixed = profile.floor_s
    if old_links and draw.cause in LINKS:  # what the links take now does not shrink
        fixed *= 1 - draw.uniform("link share", *_LINK_SHARE)
    efficiency = draw.uniform("efficiency", 0.75, 1.0) if ratio > 1 else 1.0
    names = ("token_s", "decode_context_s", "mixed_context_s", "pair_s")
    spread = profile.scaled(**dict.fromkeys(names, 1 / (ratio * efficiency)))
    return msgspec.structs.replace(
        spread,
        floor_s=fixed / (ratio * efficiency),
        link_s=wider.link_s * link,
        link_token_s=wider.link_token_s * link,
        host_mixed_s=profile.host_mixed_s,
    )


def with_cores(
    profile: StepProfile, draw: Draw, known: StepProfile | None, overlap: bool, faster: float
) -> StepProfile:
    """The host's part ``faster`` times as fast; a step cannot get shorter than the GPU's part."""
    apart = parts(profile, draw, known, overlap)
    host = apart.host_s / faster
    fixed = max(apart.gpu_s, host) if overlap else apart.gpu_s + host
    names = ("host_mixed_s", "host_eager_s", "front_s")
    return msgspec.structs.replace(profile.scaled(**dict.fromkeys(names, 1 / faster)), floor_s=fixed, host_s=0.0)
