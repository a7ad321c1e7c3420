"""Images and the like: what the API process has to prepare before the engine sees a request."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .thresholds import ramp


def multimodal(scene: Scene) -> Iterator[Evidence]:
    """``mm.computed``: items a request that its cache did not have, so that they were decoded, resized and cut up."""
    parts = scene.state.subsystems
    if parts is None:
        return
    looked_up, found = scene.rate(parts.mm_queries), scene.rate(parts.mm_hits)
    arrived = scene.rate(scene.state.first_tokens)
    if not math.isfinite(looked_up):
        return
    if not looked_up > 0:
        text = Text("no request carries images or other media", "没有请求携带图像或其他媒体")
        yield scene.evidence("mm.computed", 0.0, "1/req", -0.3, text)
        return
    if not arrived > 0:
        return
    missed = max(looked_up - (found if math.isfinite(found) else 0.0), 0.0)
    text = Text(
        "{each:~2} images or other media are prepared for each request; the cache had {hits:.0%} of those asked for",
        "每个请求需预处理 {each:~2} 个图像或其他媒体；缓存命中 {hits:.0%}",
    ).format(each=missed / arrived, hits=1 - missed / looked_up)
    yield scene.evidence("mm.computed", missed / arrived, "1/req", ramp(missed / arrived, 0.05, 0.5), text)
