"""Every kind of actuator that the configuration may name is made from it."""

from __future__ import annotations

import msgspec
import pytest

from whystall.errors import UsageError
from whystall.trials.actuators.choose import actuator_of
from whystall.trials.actuators.spec import ActuatorSpec

URL = "http://127.0.0.1:8000"
SPECS = [
    {"kind": "compose", "service": "vllm"},
    {"kind": "kubernetes", "deployment": "vllm", "api": "http://127.0.0.1:8001"},
    {"kind": "ray_serve", "application": "chat"},
    {"kind": "command", "argv": ["/bin/true"]},
    {"kind": "values", "form": "kserve", "file": "patch.yaml", "name": "chat"},
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec["kind"])
def test_each_kind(spec: dict[str, object]) -> None:
    subject = actuator_of(msgspec.convert(spec, ActuatorSpec), URL, ("m",))
    assert subject.kind == spec["kind"]
    assert subject.target.startswith(f"{spec['kind']}:")
    assert subject.live == (spec["kind"] != "values")
    assert actuator_of(msgspec.convert(spec, ActuatorSpec), URL, ("m",)).target == subject.target


def test_a_folder_that_keeps_nothing_and_a_wrong_key_are_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="keeps no server"):
        actuator_of(msgspec.convert({"kind": "process", "folder": str(tmp_path)}, ActuatorSpec), URL)
    with pytest.raises(msgspec.ValidationError, match="servce"):
        msgspec.convert({"kind": "compose", "service": "x", "servce": "y"}, ActuatorSpec)
