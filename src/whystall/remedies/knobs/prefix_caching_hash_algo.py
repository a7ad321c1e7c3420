"""--prefix-caching-hash-algo: how blocks are named."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="prefix_caching_hash_algo",
    group="kv",
    kind="choice",
    what=Text("Hash that names the blocks of a prefix.", "为前缀块命名的哈希算法。"),
    spellings=(Spelling("--prefix-caching-hash-algo", since="0.9.1"),),
    defaults=(Default("sha256"),),
    legal=Legal(
        choices=(
            Choice("sha256"),
            Choice("sha256_cbor", since="0.32.0"),
            Choice("xxhash", since="0.32.0"),
            Choice("xxhash_cbor", since="0.32.0"),
        )
    ),
    up=Text(
        "xxhash takes less CPU for very long prompts; it is no cryptographic hash, so tenants could be made to collide.",
        "xxhash 对超长提示更省 CPU；但不是密码学哈希，可能被人为制造跨租户碰撞。",
    ),
    raising={"cpu": "better"},
)
