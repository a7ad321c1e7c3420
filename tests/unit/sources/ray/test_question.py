"""What a Ray target names, and whose token goes along."""

from __future__ import annotations

import pytest

from whystall.errors import UsageError
from whystall.sources.ray.question import is_ray, parse_ray, ray_token


def test_a_target_with_all_its_parts():
    question = parse_ray("ray+https://head.example/prefix?application=llm&deployment=LLM%3Am&sd=/x/sd.json")
    assert question.address.base == "https://head.example:443/prefix"
    assert (question.application, question.deployment, str(question.sd)) == ("llm", "LLM:m", "/x/sd.json")
    assert parse_ray("ray+http://h:8265").address.port == 8265


def test_only_ray_is_ray():
    assert is_ray("RAY+http://h:1")
    assert not is_ray("http://h:1")
    assert not is_ray("ray://h:10001")


@pytest.mark.parametrize("bad", ["ray+http://h?job=x", "ray+http://", "ray+http://h:99999", "ray+http://h?application"])
def test_what_cannot_be_read_is_refused(bad):
    with pytest.raises(UsageError):
        parse_ray(bad)


def test_rays_own_token_is_taken_only_where_ray_wants_one(tmp_path):
    file = tmp_path / "token"
    file.write_text("from-file\n")
    assert ray_token({}) == ""
    assert ray_token({"RAY_AUTH_TOKEN": "t"}) == ""
    assert ray_token({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "t"}) == "t"
    assert ray_token({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}) == "from-file"
    with pytest.raises(UsageError, match="RAY_AUTH_TOKEN_PATH"):
        ray_token({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")})
