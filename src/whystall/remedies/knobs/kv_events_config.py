"""--kv-events-config: blocks kept and dropped, as events."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="kv_events_config",
    group="observability",
    kind="json",
    what=Text(
        "Publishes which blocks the cache holds, for routers that look for prefixes.",
        "发布缓存中有哪些块，供按前缀路由的网关使用。",
    ),
    spellings=(Spelling("--kv-events-config", since="0.9.1"),),
    defaults=(Default("None"),),
    up=Text("A router can send a request to where its prefix lies.", "路由器可把请求送到其前缀所在的副本。"),
    raising={"cpu": "worse"},
)
