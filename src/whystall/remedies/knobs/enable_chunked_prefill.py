"""--enable-chunked-prefill: prompts in pieces."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Spelling, Treatment

KNOB = Knob(
    id="enable_chunked_prefill",
    group="scheduler",
    kind="switch",
    what=Text(
        "Cuts prompts into pieces that share a step with decoding.",
        "把提示切成小块，与解码共享一步。",
    ),
    spellings=(Spelling("--enable-chunked-prefill", off="--no-enable-chunked-prefill"),),
    defaults=(
        Default("True", since="0.8.5"),
        Default("False", Text("V0, context up to 32k", "V0，上下文不超过 32k"), until="0.8.4"),
    ),
    up=Text("Decoding goes on beside a long prompt.", "长提示计算期间解码照常进行。"),
    down=Text(
        "A prompt must fit one step (max_num_batched_tokens at least max_model_len), and all decoding stands behind it.",
        "提示必须放进一步（max_num_batched_tokens 不小于 max_model_len），所有解码都排在其后。",
    ),
    raising={"itl": "better", "ttft": "either"},
    treats=(Treatment("prefill_interference", "on"),),
    folk=(
        Folk(
            ("prefill_interference",),
            Text("turn chunked prefill off so that prompts finish at once", "关闭分块预填充，让提示一次算完"),
            Text(
                "a whole prompt in one step is the longest pause that decoding can get",
                "整个提示占一步，正是解码可能遇到的最长停顿",
            ),
        ),
    ),
)
