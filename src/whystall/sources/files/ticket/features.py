"""What a case, a figure or a server may be named for: the thing that runs are compared with and without."""

from __future__ import annotations

import re

from .document import Ticket

# The feature by the words that name it.
FEATURES: dict[str, frozenset[str]] = {
    "structured_output": frozenset(
        [
            "guided",
            "json",
            "schema",
            "grammar",
            "ebnf",
            "xgrammar",
            "outlines",
            "structured",
            "constrained",
            "bitmask",
            "fsm",
            "regex",
        ]
    ),
    "lora": frozenset(["lora", "loras", "adapter", "adapters"]),
    "speculative": frozenset(
        [
            "spec",
            "speculative",
            "speculation",
            "ngram",
            "eagle",
            "eagle3",
            "mtp",
            "draft",
            "drafts",
            "drafting",
            "medusa",
        ]
    ),
    "sampling": frozenset(["logprobs", "logprob", "penalty", "penalties", "sampler", "sampling", "topk", "topp"]),
    "multimodal": frozenset(["image", "images", "video", "videos", "audio", "vision", "mm", "multimodal"]),
    "eager": frozenset(["eager", "nograph", "nographs"]),
    "kernels": frozenset(
        [
            "fp8",
            "fp4",
            "nvfp4",
            "mxfp4",
            "awq",
            "gptq",
            "int4",
            "int8",
            "marlin",
            "triton",
            "flash",
            "flashinfer",
            "flashattn",
            "xformers",
            "sdpa",
            "fa2",
            "fa3",
        ]
    ),
    "link": frozenset(
        [
            "x1",
            "x4",
            "x8",
            "x16",
            "x4x8",
            "x8x8",
            "x8x4",
            "pcie",
            "nvlink",
            "rdma",
            "socket",
            "tcp",
            "ib",
            "p2p",
            "allreduce",
            "alltoall",
            "collective",
            "interconnect",
        ]
    ),
    "offload": frozenset(["lmcache", "offload", "offloading"]),
    "profiler": frozenset(["profiler", "profiling", "tracing"]),
    "expert_balance": frozenset(["eplb"]),
    "power": frozenset(["capped", "throttled", "powercap", "throttle", "thermal"]),
    "first_run": frozenset(["first", "cold", "run1", "initial"]),
    "version": frozenset(["upgrade", "upgraded"]),
    "frontend": frozenset(
        [
            "detok",
            "detokenize",
            "detokenizer",
            "detokenization",
            "tokenizer",
            "tokenizers",
            "tokenization",
            "postprocess",
            "postprocessor",
            "serialization",
            "uvicorn",
            "fastapi",
            "parser",
        ]
    ),
    "pd": frozenset(["nixl", "pd", "disagg", "disaggregated", "disaggregation", "xpyd"]),
    "cpu": frozenset(["cfs", "cpuset", "numa"]),
    "engine_loop": frozenset(["bubble", "bubbles", "gil"]),
    "straggler": frozenset(["straggler", "stragglers"]),
}
# Parts of a step by the words of a profile or a breakdown.
_PARTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("link", re.compile(r"_(?:all_?reduce|all_?to_?all|all_?gather|reduce_?scatter|collectives?|nccl|rccl|comm)_")),
    ("structured_output", re.compile(r"_(?:grammar|bitmask|mask|fsm|xgrammar|outlines|guided|logits_?processors?)_")),
    ("sampling", re.compile(r"_(?:penalties|penalty|logprobs?|sampler|sampling|top_?[kp])_")),
    ("frontend", re.compile(r"_(?:detok\w*|tokeniz\w*|post_?process\w*|serializ\w*|json_dumps|tool_parser)_")),
    ("multimodal", re.compile(r"_(?:pre_?process\w*|image_?process\w*|mm_?process\w*|video_?decode|hf_?processor)_")),
    ("speculative", re.compile(r"_(?:draft\w*|propos\w*)_")),
    ("offload", re.compile(r"_(?:offload\w*|swap_?(?:in|out)|h2d|d2h)_")),
    (
        "engine_loop",
        re.compile(r"_(?:bubble|host_gap|step_gap|between_steps|cpu_overhead|python\w*|scheduler?|schedule)_"),
    ),
    ("eager", re.compile(r"_(?:launch\w*|cudalaunch\w*|kernel_gaps?)_")),
)
_TWO_VERSIONS = re.compile(
    r"\bgood\b.{1,80}\bbad\b|\bbad\b.{1,80}\bgood\b|\bfine on\b|\d\s*(?:->|→|\bvs\b\.?|\bto\b)\s*[A-Za-z ]{0,12}\d",
    re.DOTALL,
)
_TRANSFER = re.compile(r"nixl|disagg|p2pnccl|mooncake|\b\d?p\d?d\b", re.IGNORECASE)


def named_features(text: str) -> set[str]:
    """The features that the words of a text name."""
    words = set(re.split(r"[^a-z0-9]+", text.lower()))
    return {name for name, of in FEATURES.items() if of & words}


def part_of(text: str) -> str:
    """The feature whose part of a step a name says; "" for none. ``text`` has ``_`` between and around its words."""
    return next((name for name, pattern in _PARTS if pattern.search(text)), "")


def two_versions(version: str) -> bool:
    """Whether an engine's version names two of them, of which one is worse."""
    return bool(_TWO_VERSIONS.search(version))


def suspect_of(ticket: Ticket) -> str:
    """The one thing that a ticket's server has and that costs something by itself; "" where it has none or several.

    For a loss that is stated without a word of what it is with: what the server runs with tells, if it tells one thing.
    """
    found = _flagged(ticket)
    if two_versions(ticket.version):
        found.add("version")
    return next(iter(found)) if len(found) == 1 else ""


def _flagged(ticket: Ticket) -> set[str]:
    flags = " ".join(ticket.flags).lower().replace("-", "_")[:4000]
    named = f"{ticket.engine} {ticket.version}"
    found = set[str]()
    if re.search(r"lora", flags):
        found.add("lora")
    if re.search(r"spec|ngram|eagle|mtp|draft", flags):
        found.add("speculative")
    if re.search(r"enforce_eager|disable_cuda_graph", flags):
        found.add("eager")
    if _TRANSFER.search(named) or re.search(r"kv_transfer|disagg", flags):
        found.add("pd")
    if re.search(r"lmcache|offload", flags + named.lower()):
        found.add("offload")
    if _idle_ranks(ticket, flags):
        found.add("lockstep")
    asked = " ".join(str(value) for value in ticket.workload.values()).lower()[:4000]
    return found | (named_features(asked) & {"structured_output", "sampling", "multimodal"})


_DP = re.compile(r"(?:^|[ _])(?:dp|dp_size|data_parallel_size)[ =_](\d{1,4})")
_EXPERTS = re.compile(r"expert_?\s?parallel|(?:^|[ _])ep(?:$|[ =_])")


def _idle_ranks(ticket: Ticket, flags: str) -> bool:
    """Whether experts are shared by data-parallel ranks of which some have no request: they step along all the same."""
    ranks, asked = _DP.search(flags), re.search(r"\d{1,6}", str(ticket.workload.get("concurrency", "")))
    return bool(ranks and _EXPERTS.search(flags) and asked and int(asked[0]) < int(ranks[1]))
