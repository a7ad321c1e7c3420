"""Images that requests bring: what the API process spends on one that its cache of prepared ones does not have."""

from __future__ import annotations

import random
from collections import OrderedDict

from whystall.emulator.engine.request import Request

from .meters import Meters

ITEM_BYTES = 40e6  # of a prepared image of about two megapixels: patches in float32


class Media:
    """Each request brings one of ``different`` images, chosen by its id. The ``room`` that were used last are kept."""

    def __init__(self, different: int, room: int, item_s: float) -> None:
        self.different = different
        self.room = room
        self.item_s = item_s
        self._kept: OrderedDict[int, None] = OrderedDict()

    def prepare(self, request: Request, meters: Meters) -> float:
        """CPU seconds of the API process for the image of ``request``; 0 where it is kept prepared."""
        image = random.Random(request.id).randrange(self.different)
        meters.count("mm_cache_queries", 1)
        if image in self._kept:
            self._kept.move_to_end(image)
            meters.count("mm_cache_hits", 1)
            return 0.0
        self._kept[image] = None
        if len(self._kept) > self.room:
            self._kept.popitem(last=False)
        return self.item_s
