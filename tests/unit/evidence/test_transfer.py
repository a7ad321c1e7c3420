"""KV caches from another server, and the several ways in which they come late."""

import pytest

from scenes import ARGV, evidence_of

NIXL = [*ARGV, "--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}']
QUICK = {"s": 0.02, "fetching": 0}


@pytest.mark.parametrize(
    ("id", "transfer"),
    [
        ("transfer.time", {"s": 0.9}),
        ("transfer.failed", {"failed": 0.3}),
        ("transfer.fetching", {"fetching": 8}),
        ("transfer.unused", {"external": 0.0}),
    ],
)
def test_each_way_speaks_by_itself(id: str, transfer: dict) -> None:
    ill = evidence_of({"queue_s": 1.0, "transfer": {**QUICK, **transfer}}, argv=NIXL)[id]
    well = evidence_of({"queue_s": 1.0, "transfer": QUICK}, argv=NIXL)[id]
    assert ill.strength > 0.5
    assert -0.1 <= well.strength <= 0


def test_offloading_on_this_host_is_no_transfer() -> None:
    argv = [*ARGV, "--kv-transfer-config", '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}']
    found = evidence_of({"transfer": {"external": 0.0}}, argv=argv)
    assert "transfer.unused" not in found
    assert found["config.transfer"].strength < 0


def test_without_a_connector_nothing_is_said_of_transfers() -> None:
    found = evidence_of({})
    assert [id for id in found if id.startswith("transfer.")] == []
