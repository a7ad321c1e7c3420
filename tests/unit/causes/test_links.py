"""Whys that several causes share."""

import msgspec

from whystall.causes.catalogue.overload import CAUSE
from whystall.causes.links import seen_in_contrast, shown_by_contrast


def test_a_comparison_is_one_more_way_to_see_a_cause():
    entry = seen_in_contrast(CAUSE, "seats")
    assert entry.weights["contrast.seats"] > -entry.bias
    assert entry.other_links == (*CAUSE.other_links, shown_by_contrast("seats"))
    assert entry.hurts_as == (*CAUSE.hurts_as, "contrast")
    assert "{contrast_seats:~2}" in entry.numbers[-1].en
    back = {"weights": CAUSE.weights, "other_links": CAUSE.other_links, "numbers": CAUSE.numbers}
    assert msgspec.structs.replace(entry, hurts_as=CAUSE.hurts_as, **back) == CAUSE
