"""--kv-cache-dtype: how many bytes a cached value takes."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Folk, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="kv_cache_dtype",
    group="kv",
    kind="choice",
    what=Text("Type of the values in the KV cache; auto is the model's.", "KV 缓存中数值的类型；auto 与模型相同。"),
    spellings=(Spelling("--kv-cache-dtype"),),
    defaults=(Default("auto"),),
    legal=Legal(
        choices=(
            Choice("auto"),
            Choice("fp8", since="0.4.0"),
            Choice("fp8_e4m3", since="0.5.0"),
            Choice("fp8_e5m2", since="0.5.0"),
            Choice("float16", since="0.32.0"),
            Choice("bfloat16", since="0.32.0"),
            Choice("fp8_inc", since="0.32.0"),
            Choice("fp8_ds_mla", since="0.32.0"),
            Choice("nvfp4", since="0.32.0"),
            Choice("nvfp4_4over6", since="0.32.0"),
            Choice("nvfp4_ds_mla", since="0.32.0"),
            Choice("int4_per_token_head", since="0.32.0"),
            Choice("int8_per_token_head", since="0.32.0"),
            Choice("fp8_per_token_head", since="0.32.0"),
            Choice("turboquant_3bit_nc", since="0.32.0"),
            Choice("turboquant_4bit_nc", since="0.32.0"),
            Choice("turboquant_k3v4_nc", since="0.32.0"),
            Choice("turboquant_k8v4", since="0.32.0"),
            Choice("ultraquant_4bit", since="0.32.0"),
        )
    ),
    up=Text(
        "fp8 holds twice the tokens of a 16-bit cache and halves attention's memory traffic; answers change a little, so "
        "accuracy must be checked. Which types a GPU and a backend take differs.",
        "fp8 能容纳 16 位缓存两倍的 token，并使注意力访存减半；输出会略有变化，需检查精度。可用类型因 GPU 与后端而异。",
    ),
    raising={"kv": "better", "ttft": "better", "itl": "better"},
    treats=(Treatment("kv_capacity", "set"),),
    folk=(
        Folk(
            (),
            Text("switch on KV compression that saves 30%", "打开能节省 30% 的 KV 压缩"),
            Text(
                "there is no such switch; fp8 halves it, the other types are in the list above",
                "没有这样的开关；fp8 减半，其余类型见上表",
            ),
        ),
    ),
)
