import errno
import gzip
import zlib
from pathlib import Path

import pytest

from whystall.errors import NotWritable
from whystall.sources.live.gzip_stream import GzipStream, not_writable


def test_every_write_can_be_read_at_once(tmp_path) -> None:
    stream = GzipStream(tmp_path / "x.gz")
    written = b""
    for n in range(20):
        written += b"line %d\n" % n
        stream.write(b"line %d\n" % n)
        assert zlib.decompressobj(31).decompress((tmp_path / "x.gz").read_bytes()) == written
    stream.close()
    stream.close()
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == written


def test_a_file_that_cannot_be_made(tmp_path) -> None:
    with pytest.raises(NotWritable):
        GzipStream(tmp_path / "none" / "x.gz")


def test_a_full_disk_is_named() -> None:
    with pytest.raises(NotWritable, match="No space left") as caught, GzipStream(Path("/dev/full")) as stream:
        stream.write(b"x")
    assert "free some space" in caught.value.hint


def test_other_errors_have_another_hint(tmp_path) -> None:
    assert "permissions" in not_writable(tmp_path, OSError(errno.EACCES, "Permission denied")).hint
