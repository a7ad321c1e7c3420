import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.profiles.bytestream import ByteStream, ReadLimits


def read_all(path: Path, block: int) -> tuple[bytes, ByteStream]:
    with ByteStream(path, ReadLimits(block_bytes=block)) as stream:
        parts = []
        while part := stream.read():
            assert len(part) <= max(block, 64 * 1024)
            parts.append(part)
        return b"".join(parts), stream


@given(
    members=st.lists(st.binary(max_size=3000), min_size=1, max_size=4), block=st.integers(1, 2000), plain=st.booleans()
)
def test_text_comes_back_whole(tmp_path_factory, members, block, plain) -> None:
    content = b"".join(members) if plain else b"".join(gzip.compress(member) for member in members)
    if plain and content.startswith(b"\x1f\x8b"):
        return
    path = tmp_path_factory.mktemp("s") / "f"
    path.write_bytes(content)
    text, stream = read_all(path, block)
    assert text == b"".join(members)
    assert not stream.truncated
    assert stream.members == (0 if plain else len(members))
    assert stream.bytes_in == len(content)


def test_padding_behind_a_member_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(b"abc") + b"\0" * 100)
    text, stream = read_all(tmp_path / "f", 10)
    assert (text, stream.truncated) == (b"abc", False)


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_what_came_before_the_damage_is_kept(tmp_path: Path, damage: str) -> None:
    whole = bytes(range(256)) * 4000
    packed = bytearray(gzip.compress(whole, compresslevel=1))
    half = len(packed) // 2
    packed = packed[:half] if damage == "cut" else packed[:half] + b"\xff" * 200 + packed[half + 200 :]
    (tmp_path / "f").write_bytes(packed)
    text, stream = read_all(tmp_path / "f", 4096)
    assert stream.truncated
    assert len(text) > 0
    assert whole.startswith(text[: len(text) // 4])
