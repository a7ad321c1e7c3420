"""LoRA adapters of random weights for a Llama folder: python benchmarks/gpu/adapters.py MODEL_FOLDER TARGET COUNT."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

RANK = 64


def main(model: Path, target: Path, count: int) -> None:
    """Write ``count`` adapters of the query and value projections, ``a0`` and on, under ``target``."""
    shape = json.loads((model / "config.json").read_text())
    hidden, layers = shape["hidden_size"], shape["num_hidden_layers"]
    head = shape.get("head_dim", hidden // shape["num_attention_heads"])
    widths = {"q_proj": head * shape["num_attention_heads"], "v_proj": head * shape["num_key_value_heads"]}
    settings = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK, "target_modules": sorted(widths), "bias": "none"}
    settings |= {"base_model_name_or_path": str(model), "task_type": "CAUSAL_LM", "lora_dropout": 0.0}
    for number in range(count):
        folder = target / f"a{number}"
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(number)
        weights = {}
        for layer in range(layers):
            for name, width in widths.items():
                key = f"base_model.model.model.layers.{layer}.self_attn.{name}"
                weights[f"{key}.lora_A.weight"] = torch.randn(RANK, hidden, dtype=torch.bfloat16) * 0.01
                weights[f"{key}.lora_B.weight"] = torch.randn(width, RANK, dtype=torch.bfloat16) * 0.01
        save_file(weights, str(folder / "adapter_model.safetensors"))
        (folder / "adapter_config.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
