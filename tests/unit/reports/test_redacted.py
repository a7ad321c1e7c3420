import msgspec

from findings import bottleneck
from whystall.model.load import Holder, Who
from whystall.reports.finding import Finding
from whystall.reports.json import to_json
from whystall.reports.redacted import redacted

HOLDERS = tuple(
    Holder(kind, name, 1, 1.0, 0.5, 1.0, 0.5)
    for kind, name in (("request", "cmpl-9"), ("lengths", "1-256"), ("adapter", "sql"), ("tenant", "acme"))
)


def test_names_become_numbers_and_lengths_stay() -> None:
    one = msgspec.structs.replace(bottleneck().diagnosis, who=Who("spans", 9.0, None, HOLDERS))
    outer = msgspec.structs.replace(one, engines=(one,))
    found = redacted(Finding(outer, None, (Finding(one),)))
    names = ["request-1", "1-256", "adapter-1", "tenant-1"]
    for seen in (found.diagnosis, found.diagnosis.engines[0], found.engines[0].diagnosis):
        assert seen.who is not None
        assert [holder.name for holder in seen.who.holders] == names
    assert "acme" not in to_json(found.diagnosis, "en")


def test_a_diagnosis_without_holders_is_as_it_was() -> None:
    finding = Finding(bottleneck().diagnosis)
    assert redacted(finding) == finding
