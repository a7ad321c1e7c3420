"""--kv-offloading-backend: who moves offloaded blocks."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="kv_offloading_backend",
    group="kv",
    kind="choice",
    what=Text("Code that moves blocks to host memory and back.", "负责把块移到主机内存并取回的后端。"),
    spellings=(Spelling("--kv-offloading-backend", since="0.11.2"),),
    defaults=(Default("native"),),
    legal=Legal(choices=(Choice("native"), Choice("lmcache"))),
    up=Text("lmcache can share the blocks between servers.", "lmcache 可以在多台服务器间共享块。"),
    raising={"ttft": "either"},
)
