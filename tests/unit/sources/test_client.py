"""The client's requests to columns."""

import numpy as np

from recorded_text import T0, lines, scraped, write
from whystall.sources.files.recording import read_recording


def test_requests(tmp_path):
    write(tmp_path, scraped(0))
    good = {"intended": T0 + 1, "sent": T0 + 1.5, "prompt_tokens": 10, "ttft": 0.5, "e2e": 2, "error": None}
    failed = {"intended": T0, "sent": T0, "ttft": None, "error": "http 503"}
    write(tmp_path, lines(good, failed) + f'{{"sent": {T0}, "ttft": NaN}}\n{{}}\n', "requests.jsonl")
    found = read_recording(tmp_path).client
    assert found.sent.tolist() == [T0, T0, T0 + 1.5]
    assert found.error == ("http 503", None, None)
    np.testing.assert_array_equal(found.ttft_s, [np.nan, np.nan, 0.5])
    assert found.intended[1] == T0


def test_senders_are_kept_where_a_row_names_one(tmp_path):
    write(tmp_path, scraped(0))
    write(tmp_path, lines({"sent": T0, "tenant": "a"}, {"sent": T0 + 1, "request_id": "r" * 900}), "requests.jsonl")
    first, second = read_recording(tmp_path).client.sender
    assert (first.tenant, first.request) == ("a", "")
    assert len(second.request) == 200
    write(tmp_path, lines({"sent": T0}), "requests.jsonl")
    assert read_recording(tmp_path).client.sender == ()
