"""Make the example cases that ship: two published incidents, run on the emulator. No figure in them is written by hand.

Each incident runs as published, then with the write-up's cure, then with the one that the diagnosis names (see
``whystall.trials.lab.incidents``). Writes ``src/whystall/cases/examples.json``.

    python benchmarks/cases/examples.py [--check]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import msgspec

from whystall.cases.examples import FILE_NAME
from whystall.cases.exchange import exported
from whystall.cases.opening import case_of
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import inject
from whystall.emulator.server.profiler import Profiler
from whystall.model.case import Case, CaseStep, Claim, plain
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.recording import Recording
from whystall.model.target import Target
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.profiles.figures import trace_figures
from whystall.profiles.files import TraceOptions, report_of
from whystall.trials.lab.experiment import Experiment
from whystall.trials.lab.incidents import POOL_TOKENS, long_prompts, slow_all_reduce
from whystall.trials.lab.run import run_experiment

FILE = Path(__file__).resolve().parents[2] / "src" / "whystall" / "cases" / FILE_NAME
PROFILED_STEPS_S = 2.0


class Run(msgspec.Struct, frozen=True):
    """One run: its figures before and after, and the diagnosis."""

    before: dict[str, float]
    after: dict[str, float]
    diagnosis: Diagnosis

    def figures(self, prefix: str = "") -> dict[str, float]:
        """For a sentence: ``{ttft_a:.2f}`` is the TTFT after."""
        return {f"{prefix}{key}_b": value for key, value in self.before.items()} | {
            f"{prefix}{key}_a": value for key, value in self.after.items()
        }


def run(experiment: Experiment) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        outcome, recording = run_experiment(experiment, Path(folder))
    return Run(outcome.before, outcome.after, diagnose(_named(recording, experiment)).diagnosis)


def profiled(experiment: Experiment) -> float:
    """The share of the time that all-reduces take with nothing beside them, from a profile of the incident's last steps."""
    deployment = Deployment(experiment.serving, start=1_790_000_000.0)
    for planned in experiment.planned:
        inject(deployment, planned)
    deployment.advance(deployment.start + experiment.seconds)
    with tempfile.TemporaryDirectory() as folder:
        profiler = Profiler(Path(folder))
        profiler.start(deployment, deployment.now)
        deployment.advance(deployment.now + PROFILED_STEPS_S)
        profiler.stop(deployment, deployment.now)
        ratio = trace_figures(report_of(list(Path(folder).glob("*.gz")), TraceOptions())).exposed_collective_ratio
    assert ratio is not None
    return ratio


def _named(recording: Recording, experiment: Experiment) -> Recording:
    return msgspec.structs.replace(recording, target=Target(f"emulator:{experiment.id}", "recording"))


def long_prompts_case() -> Case:
    """2026-01: long prompts from 10% to 50%."""
    base, published, cured = run(long_prompts()), run(long_prompts(budget=5_000)), run(long_prompts(gpu="a100-80gb"))
    remedy = Remedy(
        id="kv_capacity.larger_gpu",
        text=Text("Move to a GPU of 80 GB", "换用 80 GB 的 GPU"),
        cause="kv_capacity",
        kind="capacity",
        buys=Text(
            "{times:.1f} times the KV tokens, as the weights take the same",
            "KV token 为 {times:.1f} 倍，因为权重占用不变",
        ).format(times=POOL_TOKENS["a100-80gb"] / POOL_TOKENS["a100-40gb"]),
        risk=Text("Twice the price of a GPU", "GPU 价格翻倍"),
        undo=Text("Move back", "换回原 GPU"),
    )
    values = base.figures() | published.figures("cure_") | cured.figures("large_")
    values |= {"fall": 1 - base.after["throughput"] / base.before["throughput"]}
    applied = Text("the same load on an emulated GPU of 80 GB", "在模拟的 80 GB GPU 上以相同负载重跑")
    verified = Text(
        "TTFT {large_ttft_a:.2f} s instead of {ttft_a:.2f} s, preemptions {large_preemptions_a:.2f}/s instead of "
        "{preemptions_a:.2f}/s, output {large_throughput_a:.0f} tok/s instead of {throughput_a:.0f}; {next}",
        "TTFT {large_ttft_a:.2f} 秒（原 {ttft_a:.2f} 秒），抢占 {large_preemptions_a:.2f}/秒（原 {preemptions_a:.2f}/秒），"
        "输出 {large_throughput_a:.0f} tok/s（原 {throughput_a:.0f}）；{next}",
    ).format(next=_next(cured), **values)
    return _case(base, cured, remedy, (applied, verified), _long_prompts_claims(values))


def _long_prompts_claims(values: dict[str, float]) -> tuple[Claim, ...]:
    return (
        _claim(
            True,
            ("Long requests going from 10% to 50% set it off", "长请求由 10% 增至 50% 是触发因素"),
            (
                "throughput {throughput_b:.0f} to {throughput_a:.0f} tok/s (-{fall:.0%}), "
                "TTFT {ttft_b:.2f} to {ttft_a:.1f} s",
                "吞吐由 {throughput_b:.0f} 降至 {throughput_a:.0f} tok/s（-{fall:.0%}），"
                "TTFT 由 {ttft_b:.2f} 升至 {ttft_a:.1f} 秒",
            ),
            values,
        ),
        _claim(
            False,
            (
                "Lowering --max-num-batched-tokens from 10000 to 5000 relieves the KV cache",
                "将 --max-num-batched-tokens 由 10000 降至 5000 可缓解 KV 缓存压力",
            ),
            (
                "it is a budget of a step and holds no memory: TTFT {cure_ttft_a:.2f} s with it, {ttft_a:.2f} s without",
                "它只是每步的预算，不占用显存：改后 TTFT {cure_ttft_a:.2f} 秒，改前 {ttft_a:.2f} 秒",
            ),
            values,
        ),
        _claim(
            False,
            ("A full KV cache makes the server reject requests", "KV 缓存满时服务器会拒绝请求"),
            (
                "vLLM queues and preempts: {rejections_a:.0f} rejections, {preemptions_a:.2f} preemptions a second",
                "vLLM 会排队和抢占：拒绝 {rejections_a:.0f} 次，抢占 {preemptions_a:.2f} 次/秒",
            ),
            values,
        ),
        _claim(
            False,
            ("GPU utilisation falls from 80% to under 30%", "GPU 利用率由 80% 降至 30% 以下"),
            (
                "recomputing what was preempted keeps kernels running: {gpu_util_a:.0%}",
                "被抢占请求的重算使内核持续运行：{gpu_util_a:.0%}",
            ),
            values,
        ),
        _claim(
            True,
            ("A GPU of 80 GB instead of 40 GB helps", "以 80 GB GPU 取代 40 GB 有效"),
            (
                "more than its size says, as the weights take the same: TTFT {large_ttft_a:.2f} s instead of {ttft_a:.2f} s",
                "收益超过容量比例，因为权重占用不变：TTFT {large_ttft_a:.2f} 秒，原为 {ttft_a:.2f} 秒",
            ),
            values,
        ),
    )


def slow_all_reduce_case() -> Case:
    """The 70B at tensor-parallel 4."""
    base, published = run(slow_all_reduce()), run(slow_all_reduce(budget=8_192, seats=64))
    budget, cured = run(slow_all_reduce(budget=8_192)), run(slow_all_reduce(slow=False))
    share, share_8192 = profiled(slow_all_reduce()), profiled(slow_all_reduce(budget=8_192))
    values = base.figures() | published.figures("cure_") | budget.figures("budget_") | cured.figures("link_")
    values |= {"share": share, "share_8192": share_8192}
    remedy = Remedy(
        id="comm_bound.host.link",
        text=Text(
            "Bring the all-reduce back to its fast path: NVLink up on all pairs, custom all-reduce in use",
            "让 all-reduce 回到快速路径：所有 GPU 对的 NVLink 正常，启用自定义 all-reduce",
        ),
        cause="comm_bound",
        kind="host",
        buys=Text("Steps as short as before, so seats come free in time", "单步恢复原时长，席位及时释放"),
    )
    applied = Text("the same load on the emulator with the link as it was", "在模拟器上以相同负载、链路恢复正常重跑")
    verified = Text(
        "TTFT {link_ttft_a:.2f} s instead of {ttft_a:.2f} s, ITL {link_itl:.1f} ms instead of {itl:.1f} ms; {next}",
        "TTFT {link_ttft_a:.2f} 秒（原 {ttft_a:.2f} 秒），ITL {link_itl:.1f} 毫秒（原 {itl:.1f} 毫秒）；{next}",
    ).format(next=_next(cured), link_itl=1e3 * cured.after["itl"], itl=1e3 * base.after["itl"], **values)
    return _case(base, cured, remedy, (applied, verified), _slow_all_reduce_claims(values))


def _slow_all_reduce_claims(values: dict[str, float]) -> tuple[Claim, ...]:
    return (
        _claim(
            True,
            (
                "All-reduces at 35% of a step bring a queue and a TTFT of 1.2 s",
                "all-reduce 占每步 35% 导致排队，TTFT 达 1.2 秒",
            ),
            (
                "with a load near the seats' limit: a profile says {share:.0%}, TTFT {ttft_b:.2f} to {ttft_a:.2f} s, "
                "{waiting_a:.1f} requests wait on average where none did",
                "在负载接近席位上限时成立：剖析显示 {share:.0%}，TTFT 由 {ttft_b:.2f} 升至 {ttft_a:.2f} 秒，"
                "平均 {waiting_a:.1f} 个请求在等待",
            ),
            values,
        ),
        _claim(
            False,
            ("Lowering max_num_seqs from 128 to 64 reduces waiting", "将 max_num_seqs 由 128 降至 64 可减少等待"),
            (
                "seats are what the queue waits for: TTFT {cure_ttft_a:.1f} s with 64 seats and a budget of 8,192, "
                "{ttft_a:.2f} s with 128",
                "排队等的正是席位：64 席位与 8,192 预算下 TTFT {cure_ttft_a:.1f} 秒，128 席位下 {ttft_a:.2f} 秒",
            ),
            values,
        ),
        _claim(
            False,
            (
                "Raising max_num_batched_tokens from 4096 to 8192 brings the all-reduces' share down",
                "将 max_num_batched_tokens 由 4096 提高到 8192 可降低 all-reduce 占比",
            ),
            (
                "bytes and matrix products both grow with the tokens: {share_8192:.0%} instead of {share:.0%}, "
                "TTFT {budget_ttft_a:.2f} s instead of {ttft_a:.2f} s",
                "通信量与矩阵乘法都随 token 增长：占比 {share_8192:.0%}（原 {share:.0%}），"
                "TTFT {budget_ttft_a:.2f} 秒（原 {ttft_a:.2f} 秒）",
            ),
            values,
        ),
    )


def _claim(right: bool, says: tuple[str, str], because: tuple[str, str], values: dict[str, float]) -> Claim:
    return Claim(Text(*says), right, Text(*because).format(**values))


def _next(after: Run) -> Text:
    """What binds once the change is made."""
    found = after.diagnosis
    if found.verdict == "bottleneck":
        return Text("what binds next: {headline}", "接下来的瓶颈：{headline}").format(headline=found.headline)
    return found.headline


def _case(base: Run, after: Run, remedy: Remedy, done: tuple[Text, Text], claims: tuple[Claim, ...]) -> Case:
    end = base.diagnosis.window.end
    case = case_of(base.diagnosis, end, origin="example")
    applied, verified = done
    steps = (
        *(step for step in case.steps if step.id != "chosen"),
        CaseStep("chosen", end, remedy.text),
        CaseStep("applied", end, applied),
        CaseStep("verified", end + after.diagnosis.window.seconds, verified),
    )
    return msgspec.structs.replace(
        case,
        remedy=remedy,
        after=plain(after.diagnosis),
        outcome="kept",
        closed=end + after.diagnosis.window.seconds,
        steps=steps,
        claims=claims,
    )


def made() -> str:
    """The text of the file."""
    return exported([long_prompts_case(), slow_all_reduce_case()]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Say whether the shipped file is what would be made now.")
    text = made()
    if parser.parse_args().check:
        same = FILE.read_text(encoding="utf-8") == text
        print("the shipped examples are", "current" if same else "not what the emulator gives now")
        raise SystemExit(not same)
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text):,} bytes")


if __name__ == "__main__":
    main()
