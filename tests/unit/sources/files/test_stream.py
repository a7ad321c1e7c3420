"""Files plain and gzip, whole, cut, damaged, and over their limit."""

import gzip

import pytest

from whystall.errors import InputError, NotARecording, TooLarge
from whystall.sources.files import stream
from whystall.sources.files.recording import read_recording


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "metrics.prom").mkdir()
    with pytest.raises(NotARecording):
        read_recording(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        list(stream.Stream(tmp_path / "metrics.prom", 10))


def test_over_the_limit_is_refused_without_reading_it(tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\0" * 30_000_000))
    with pytest.raises(TooLarge, match="more than the 10 MB"):
        stream.read_all(tmp_path / "bomb.gz", 10_000_000)
