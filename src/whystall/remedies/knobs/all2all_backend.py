"""--all2all-backend: how tokens reach their experts."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="all2all_backend",
    group="parallel",
    kind="text",
    what=Text("Communication that brings tokens to their experts and back.", "把 token 送往专家并取回的通信后端。"),
    spellings=(Spelling("--all2all-backend", since="0.11.2"),),
    defaults=(Default("allgather_reducescatter", since="0.32.0"),),
    up=Text(
        "Backends for high throughput or low latency need their library and network.",
        "高吞吐或低延迟后端需要相应的库与网络。",
    ),
    raising={"itl": "either", "throughput": "either"},
)
