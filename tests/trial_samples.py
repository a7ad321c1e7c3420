"""Trials for the tests of their reports."""

from __future__ import annotations

from whystall.model.diagnosis import Notice
from whystall.model.text import Text
from whystall.model.trial import Block, Effect, Guard, TokenAgreement, Trial, TrialArm, TrialVerdict, WarmUp

_BECAUSE = Text("mean E2E changed by -19.6% to -10.3% (6 pairs)", "平均 E2E变化 -19.6% 至 -10.3%（6 对区块）")


def trial(verdict: TrialVerdict = "WIN", target: str = "http://b:8000") -> Trial:
    """B is faster, one guard is open, and the client was late."""
    return Trial(
        a=TrialArm("http://a:8000"),
        b=TrialArm(target, {"--max-num-seqs": "256"}),
        verdict=verdict,
        because=_BECAUSE,
        primary="e2e_mean",
        minimum_effect=0.05,
        effects=(
            Effect("e2e_mean", "s", "relative", "lower", -0.196, -0.15, -0.103, 6, 2.0, 1.7),
            Effect("tokens_per_s", "tokens/s", "relative", "higher", -0.01, 0.002, 0.02, 6, 900.0, 902.0),
            Effect("itl_p95", "s", "relative", "lower", 0.02, 0.06, 0.1, 6, 0.03, 0.032),
            Effect("errors", "ratio", "points", "lower", 0.0, 0.0, 0.0, 6, 0.0, 0.0),
            Effect("ttft_p95", "s", "relative", "lower", None, 0.4, None, 2, 0.2, 0.28),
        ),
        guards=(
            Guard("ttft_p95", 0.1, "open", "relative", -0.2, 0.0, 0.2, 6, 0.2),
            Guard("errors", 0.001, "holds", "points", 0.0, 0.0, 0.0, 6),
        ),
        blocks=(
            Block(0, "a", 1_790_000_000.0, 10.0, 40, 0, {"e2e_mean": 2.0}),
            Block(0, "b", 1_790_000_010.0, 10.0, 40, 1, {"e2e_mean": None}),
        ),
        pairs=6,
        seconds=160.0,
        block_seconds=10.0,
        load="4 requests/s, 200-800 -> 100-300 tokens",
        warm_up=(WarmUp("a", 20.0, 80, True), WarmUp("b", 60.0, 240, False)),
        findings=(Notice("client_lag", Text("our requests went out late: 50% of a, b", "请求晚发：50%")),),
        token_agreement=TokenAgreement(16, 12, 0.9, 64),
    )
