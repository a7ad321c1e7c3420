"""An incident to watch: a server with one flag forgotten, a load that changes, and the loop that puts it right.

All of it is emulated in this process and in emulated time, which goes by as fast as it can be computed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from whystall import pipeline
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.traffic import TrafficPlan
from whystall.model.case import Case
from whystall.model.fix import Fix
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.reports.finding import Finding
from whystall.trials.emulated_target import EmulatedTarget

from .flow import Loop, Mandate
from .parts import Parts, analyze, optimizer
from .records import Records, Say
from .switch import go_on
from .verify import TrialLimits, WatchingVerifier

CAUSE, FLAG = "kv_capacity", "--num-gpu-blocks-override"
AT_S, SECONDS = 20.0, 54.0
# An 8B model with room for 40,000 KV tokens, forgotten from a test. The load is the same in number all the time: twelve
# requests of 800 tokens are inside before, and would be seventeen of 2,900 after.
_BLOCKS, _RATE = 2500, 5.0
_OUTPUT = (300, 500)
_BEFORE, _AFTER = (300, 500), (2000, 3000)
SLO = Slo(ttft_p95_s=1.0, itl_p95_s=0.1)
_OLD_S = 900.0  # a younger server may still be warming up
INTRODUCTION = Text(
    "An emulated vLLM 0.32 (8B model on one H200) serves 5 requests a second, in emulated time; promised: {slo}.\n"
    "Planted: it was started with {flag} {blocks:,}, forgotten from a test: room for 40,000 KV tokens.\n"
    "It is healthy until, at {at:.0f} s, prompts grow from 300-500 tokens to 2,000-3,000, at the same rate.\n",
    "一个模拟的 vLLM 0.32（单张 H200 上的 8B 模型）以模拟时间每秒服务 5 个请求；承诺：{slo}。\n"
    "埋下的问题：启动时带着测试遗留的 {flag} {blocks:,}，KV 只容纳 40,000 个 token。\n"
    "起初健康；第 {at:.0f} 秒起，提示词由 300–500 个 token 变为 2,000–3,000 个，速率不变。\n",
).format(flag=FLAG, blocks=_BLOCKS, at=AT_S, slo=SLO)


class Demonstrated(msgspec.Struct, frozen=True):
    """What was seen and done; ``case`` None where nothing was written."""

    finding: Finding | None
    fix: Fix
    case: Case | None


async def demonstrate(folder: Path, say: Say) -> Demonstrated:
    """Let the incident happen, and run the loop on it; ``folder`` takes its journal and its case."""
    target = _target()
    records = Records(folder / "cases.sqlite", say)
    seen: list[Finding] = []

    def detect(recording: Recording) -> Finding | None:
        finding = pipeline.diagnose(recording, SLO)
        seen.append(finding)
        return None if finding.diagnosis.verdict == "healthy" else finding

    parts = Parts(
        metrics_collector=lambda: target.look(SECONDS),
        verifier=WatchingVerifier(target.target, target.look, TrialLimits(slo=SLO), lambda line: say(Text(line))),
        anomaly_detector=detect,
        root_cause_analyzer=analyze,
        optimizer=optimizer(SLO),
    )
    mandate = Mandate(state=folder, apply=True)
    fix = await Loop(target.target, target, parts, mandate, records, go_on).run()
    return Demonstrated(seen[0] if seen else None, fix, records.case)


def _target() -> EmulatedTarget:
    profile = load_profile("h200-8b")
    options = EngineOptions(
        num_gpu_blocks=profile.kv_blocks, max_num_seqs=1024, max_model_len=8192, async_scheduling=True
    )
    plan = TrafficPlan(mix=(LengthClass(1.0, _BEFORE, _OUTPUT),), rate=_RATE)
    roomy = Serving(options=options, profile=profile, traffic=plan)
    tight = msgspec.structs.replace(
        roomy,
        options=msgspec.structs.replace(options, num_gpu_blocks=_BLOCKS),
        flags={"num_gpu_blocks_override": _BLOCKS},
    )
    target = EmulatedTarget(tight, roomy, name="demo")
    target.let_run(_OLD_S)
    target.deployment.at(target.now + AT_S, _longer_prompts)
    return target


def _longer_prompts(deployment: Deployment, _t: float) -> None:
    plan = deployment.traffic.plan
    deployment.traffic.plan = msgspec.structs.replace(plan, mix=(LengthClass(1.0, _AFTER, _OUTPUT),))


def found(fix: Fix) -> bool:
    """Whether the cause that was planted stands first."""
    return bool(fix.root_causes) and fix.root_causes[0].id == CAUSE


def proven(fix: Fix) -> bool:
    """Whether the flag was taken away, and that proven."""
    taken_away = fix.remedy is not None and fix.remedy.change == {FLAG: ""}
    return taken_away and fix.state == "kept" and fix.trial is not None and fix.trial.won
