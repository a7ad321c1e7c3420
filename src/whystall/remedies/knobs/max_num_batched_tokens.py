"""--max-num-batched-tokens: the token budget of a step."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import at_most
from whystall.remedies.setup import Setup


def _below_speculation(setup: Setup) -> bool | None:
    """With LoRA and speculative decoding together a step must hold every sequence's draft."""
    if setup.on("enable_lora") is not True or setup.is_set("speculative_config") is not True:
        return False
    budget, seats, drafts = (setup.number(n) for n in ("max_num_batched_tokens", "max_num_seqs", "spec_tokens"))
    return None if budget is None or seats is None or drafts is None else budget < seats * (drafts + 1)


def _prompt_does_not_fit(setup: Setup) -> bool | None:
    """Without chunked prefill the longest prompt must fit a step."""
    if setup.floats("max_num_batched_tokens"):
        return False
    chunked = setup.on("enable_chunked_prefill")
    budget, length = setup.number("max_num_batched_tokens"), setup.number("max_model_len")
    if chunked is not False:
        return False if chunked else None
    return None if budget is None or length is None else budget < length


_seats = at_most("max_num_seqs", "max_num_batched_tokens")

KNOB = Knob(
    id="max_num_batched_tokens",
    group="scheduler",
    kind="whole",
    what=Text(
        "Most tokens that one step computes: decode tokens first, then chunks of prompts.",
        "一步最多计算的 token 数：先是解码 token，再是提示分块。",
    ),
    spellings=(Spelling("--max-num-batched-tokens"),),
    defaults=(
        Default(
            "16384",
            Text("160 GiB and more (B200, MI300X), API server", "160 GiB 及以上（B200、MI300X），API 服务器"),
            since="0.28.0",
        ),
        Default(
            "8192",
            Text(
                "70 GiB and more, not A100, API server (LLM class: 16384)",
                "70 GiB 及以上且非 A100，API 服务器（LLM 类：16384）",
            ),
        ),
        Default("2048", Text("other GPUs, API server (LLM class: 8192)", "其他 GPU，API 服务器（LLM 类：8192）")),
        Default("2048", Text("CPU, times the world size (LLM class: 4096)", "CPU，乘以 world size（LLM 类：4096）")),
    ),
    legal=Legal(low=1),
    needs=(
        Rule(
            "budget_holds_seats",
            Text(
                "max_num_batched_tokens must be at least max_num_seqs", "max_num_batched_tokens 不得小于 max_num_seqs"
            ),
            _seats,
        ),
        Rule(
            "budget_holds_prompt",
            Text(
                "without chunked prefill max_num_batched_tokens must be at least max_model_len",
                "关闭分块预填充时，max_num_batched_tokens 不得小于 max_model_len",
            ),
            _prompt_does_not_fit,
        ),
        Rule(
            "budget_holds_drafts",
            Text(
                "with LoRA and speculative decoding it must be at least max_num_seqs x (draft tokens + 1)",
                "同时使用 LoRA 与投机解码时，不得小于 max_num_seqs ×（草稿 token 数 + 1）",
            ),
            _below_speculation,
        ),
    ),
    up=Text(
        "TTFT and prefill throughput get better until the GEMMs are saturated (about 2,000 to 8,000 tokens); a step "
        "lasts as long as its tokens, so the ITL tail gets worse; the profile run takes a little from the KV pool.",
        "TTFT 与预填充吞吐会改善，直到 GEMM 饱和（约 2,000 至 8,000 token）；步时随 token 增长，ITL 尾部变差；"
        "显存剖析会略微压缩 KV 池。",
    ),
    down=Text(
        "Shorter steps: a better ITL tail, slower prompts. Where max_num_seqs is left open it shrinks to the budget too.",
        "步更短：ITL 尾部更好，提示更慢。若 max_num_seqs 未设置，它也会随预算缩小。",
    ),
    raising={"ttft": "better", "throughput": "better", "itl": "worse", "kv": "worse"},
    treats=(
        Treatment("token_budget", "raise"),
        Treatment("prefill_bound", "raise"),
        Treatment("prefill_interference", "lower"),
    ),
    folk=(
        Folk(
            ("kv_capacity",),
            Text("halve max_num_batched_tokens", "把 max_num_batched_tokens 减半"),
            Text(
                "it is the budget of one step, not what lies in the KV pool: resident tokens stay the same",
                "它是单步预算，不是 KV 池中的驻留量：驻留 token 不变",
            ),
        ),
        Folk(
            ("overload", "prefill_bound"),
            Text("raise max_num_batched_tokens further", "继续提高 max_num_batched_tokens"),
            Text(
                "beyond the GEMMs' saturation a longer step computes no more tokens a second",
                "GEMM 饱和之后，更长的步每秒并不能计算更多 token",
            ),
        ),
    ),
)
