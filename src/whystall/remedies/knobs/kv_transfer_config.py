"""--kv-transfer-config: KV between servers."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Rule, Spelling
from whystall.remedies.setup import Setup


def _role_is_missing(setup: Setup) -> bool | None:
    """A connector needs its role."""
    text = setup.text("kv_transfer_config")
    if setup.is_set("kv_transfer_config") is not True or not text or not text.lstrip().startswith("{"):
        return None
    return "kv_connector" in text and "kv_role" not in text


KNOB = Knob(
    id="kv_transfer_config",
    group="kv",
    kind="json",
    what=Text(
        "Connector that moves KV blocks between servers or to a store (Nixl, LMCache, Mooncake, offloading).",
        "在服务器之间或与存储之间搬运 KV 块的连接器（Nixl、LMCache、Mooncake、卸载等）。",
    ),
    spellings=(Spelling("--kv-transfer-config", since="0.8.5"),),
    defaults=(Default("None"),),
    needs=(
        Rule(
            "connector_has_role",
            Text(
                "kv_transfer_config with a kv_connector needs a kv_role",
                "带 kv_connector 的 kv_transfer_config 必须给出 kv_role",
            ),
            _role_is_missing,
        ),
    ),
    up=Text(
        "Prefill and decode on servers of their own: ITL no longer feels the prompts; each request costs a transfer.",
        "预填充与解码各用服务器：ITL 不再受提示影响；每个请求多一次传输。",
    ),
    raising={"itl": "better", "ttft": "worse"},
)
