"""Cases written by hand: what the tests of the store, its verbs and its reports need."""

from __future__ import annotations

import msgspec

from whystall.cases.opening import case_of
from whystall.model.case import Case, CaseStep, plain
from whystall.model.diagnosis import Cause, Diagnosis, Engine, Evidence, Impact, Onset, Remedy, Why, Window
from whystall.model.prediction import BindsNext, Interval, PredictedMetric, Prediction, ProfileUsed, Range
from whystall.model.text import Text
from whystall.model.trial import Effect, Guard, Trial, TrialArm

START = 1_790_000_000.0
FP8 = Remedy(
    id="kv_capacity.fp8",
    text=Text("Store the KV cache in FP8", "以 FP8 存储 KV 缓存"),
    change={"--kv-cache-dtype": "fp8"},
    risk=Text("Check the answers", "检查输出质量"),
    undo=Text("Start again without --kv-cache-dtype", "去掉 --kv-cache-dtype 重新启动"),
    cause="kv_capacity",
    buys=Text("Twice the room", "容量翻倍"),
)

EFFECT = Effect("ttft_p95", "s", "relative", "lower", -0.7, -0.6, -0.4, 8, 13.2, 5.1)
TRIAL = Trial(
    a=TrialArm("a"),
    b=TrialArm("b"),
    verdict="WIN",
    because=Text("TTFT fell by 60%", "TTFT 下降 60%"),
    primary="ttft_p95",
    minimum_effect=0.2,
    effects=(EFFECT,),
    guards=(Guard("itl_p95", 0.1, "holds", harm_mid=0.02),),
    pairs=8,
    seconds=480.0,
)
PREDICTION = Prediction(
    change=FP8.change,
    metrics=(PredictedMetric("ttft_p95", "s", 13.2, Interval(4.0, 6.0, 8.0), Range(-0.7, -0.55, -0.4)),),
    p_meets=0.97,
    p_harm=0.01,
    advice="recommend",
    because=Text("worth it", "值得"),
    binds_next=BindsNext("", Text("")),
    profile=ProfileUsed("h200-8b", "shipped", 0.05, Text("x")),
    draws=20,
)


def kv_diagnosis(strength: float = 1.5, verdict: str = "bottleneck") -> Diagnosis:
    """A pool that is full, with its chain of whys."""
    saturated = Evidence("kv.saturated", 0.99, "ratio", strength, Text("of the time full", "的时间已满"), "metrics")
    queue = Evidence("queue.delay", 12.8, "s", 1.2, Text("queue", "排队"), "metrics")
    seats = Evidence("seats.taken", 0.1, "ratio", -1.0, Text("of the seats", "的席位"), "metrics")
    whys = (
        Why(Text("TTFT is high because requests queue", "TTFT 高，因为请求在排队"), ("queue.delay",), True),
        Why(Text("They queue because no block is free", "排队是因为没有空闲块"), ("kv.saturated",), True),
    )
    cause = Cause(
        id="kv_capacity",
        probability=0.93,
        role="limit",
        summary=Text("The pool holds 27 requests", "池可容纳 27 个请求"),
        onset=Onset(15.0, 13.0, 17.0),
        whys=whys,
        evidence_for=("kv.saturated",),
    )
    return Diagnosis(
        target="http://127.0.0.1:8000",
        engine=Engine(version="0.26.0", model="m"),
        window=Window(START, START + 60, 60.0, 61, 1.0),
        verdict=verdict,  # type: ignore[arg-type]
        headline=Text("KV blocks are used up", "KV 块耗尽"),
        causes=(cause,) if verdict != "healthy" else (),
        evidence=(saturated, queue, seats),
        remedies=(FP8,) if verdict != "healthy" else (),
        impact=Impact(ttft_p95_s=13.2, itl_p95_s=0.0104, queue_s=12.8, tokens_per_s=3712.0, window_s=45.0),
    )


def open_case(strength: float = 1.5) -> Case:
    """The case as ``diagnose --keep`` makes it, but of a window of its own each time: without a uid."""
    return msgspec.structs.replace(case_of(kv_diagnosis(strength), START + 60), uid="")


def closed_case(outcome: str = "kept", **fields: object) -> Case:
    """The case after its remedy was applied, and kept or rolled back."""
    case = open_case()
    applied = CaseStep("applied", START + 120, Text("restarted with --kv-cache-dtype fp8", "以 fp8 重启"))
    done = {"outcome": outcome, "closed": START + 600, "steps": (*case.steps, applied), "origin": "fix"}
    return msgspec.structs.replace(case, **{**done, **fields})


def proven_case(**fields: object) -> Case:
    """The case with what was predicted and the trial that proved it."""
    return closed_case(**{"trial": plain(TRIAL), "prediction": plain(PREDICTION), **fields})
