"""A model as a folder without weights: ``config.json``, a trained tokenizer, its settings; vLLM fills in random weights.

::

    python benchmarks/gpu/model_folder.py TARGET [SHAPE [TEXT_FOLDER]]

needs the ``tokenizers`` package. SHAPE is one of ``SHAPES`` (8b by default), each with a vocabulary of 32,000; the tokenizer
is a byte pair encoding trained on the Python sources of TEXT_FOLDER (this interpreter's library by default).
"""

from __future__ import annotations

import itertools
import json
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 32_000
TEXT_FILES = 1500
BEGIN, END = "<s>", "</s>"
LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 16384,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "bfloat16",
}

LLAMA_1B = LLAMA_8B | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "head_dim": 64}
QWEN3_32B = LLAMA_8B | {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "num_hidden_layers": 64,
    "num_attention_heads": 64,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
}
SHAPES = {"8b": LLAMA_8B, "1b": LLAMA_1B, "32b": QWEN3_32B}


def write(target: Path, shape: dict[str, Any], text: Path) -> None:
    """Write the three files vLLM needs into ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    trained_tokenizer(text).save(str(target / "tokenizer.json"))
    (target / "config.json").write_text(json.dumps(shape, indent=1))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BEGIN,
        "eos_token": END,
        "model_max_length": shape["max_position_embeddings"],
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }
    (target / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def trained_tokenizer(text: Path) -> Tokenizer:
    """A byte-level BPE of ``VOCABULARY`` tokens, so that any bytes can be encoded and every id decoded."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(text), trainer)
    return tokenizer


def _texts(folder: Path) -> Iterator[str]:
    for path in itertools.islice(sorted(folder.rglob("*.py")), TEXT_FILES):
        yield path.read_text(errors="replace")


if __name__ == "__main__":
    shape = sys.argv[2] if len(sys.argv) > 2 else "8b"
    write(Path(sys.argv[1]), SHAPES[shape], Path(sys.argv[3] if len(sys.argv) > 3 else sysconfig.get_path("stdlib")))
