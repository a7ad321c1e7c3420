"""Nothing that names someone is in any byte of any file, and the numbers are all there."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from conftest import recording_names
from whystall.sources.exposition import PageParser
from whystall.sources.files.recording import read_recording
from whystall.sources.live.address import Address
from whystall.sources.live.facts import ServerFacts
from whystall.sources.live.recorder import Recorder
from whystall.sources.live.redaction import Redactor

PLANTED = ("acme", "s3cret", "alice", "gpu7", "10.11.12.13", "fd00", "merger", "hushhush", "projectx", "70b-chat")

INFO = {
    "vllm_config": "model='/data/projectx/acme-70b-chat', tokenizer='acme/tok', served_model_name=acme-bot, "
    "max_seq_len=4096, download_dir='/home/alice/hf', kv_cache_dtype=auto, max_num_seqs=77",
    "vllm_env": {"VLLM_HOST_IP": "10.11.12.13", "VLLM_CACHE_ROOT": "/home/alice/.cache", "HF_TOKEN": "hushhush1"},
    "system_env": {"hostname": "gpu7", "user": "alice", "cuda": "12.8"},
}
MODELS = {
    "data": [{"id": "acme-bot", "root": "/data/projectx/acme-70b-chat", "max_model_len": 4096, "owned_by": "vllm"}]
}
PAGE = """# HELP vllm:num_requests_running acme model alice
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="acme-bot"} 3.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="alice-lora",waiting_lora_adapters=""} 1.7e9
vllm:cache_config_info{block_size="16",num_gpu_blocks="500",cache_dtype="auto",some_path="/home/alice"} 1.0
http_requests_total{handler="/v1/chat/completions",method="POST",status="2xx"} 5.0
http_requests_total{handler="/v1/acme/alice",method="POST",status="2xx"} 6.0
other_metric{tenant="acme \\"corp\\"",pod="gpu7-10.11.12.13"} 7 # {trace_id="alice"} 0.5
# alice was here
"""
API, ENGINE = (
    "(APIServer pid=1) INFO 11-30 00:45:35 [utils.py:273] ",
    "(EngineCore pid=2) ERROR 11-30 00:45:38 [x.py:1] ",
)
LOG = f"""vllm serve /data/projectx/acme-70b-chat --served-model-name acme-bot --api-key hushhush1 --max-num-seqs 77
{API}non-default args: {{'model': '/data/projectx/acme-70b-chat', 'host': 'gpu7', 'max_num_seqs': 77}}
{API}Received request alice-1: prompt: 'the merger of acme', params: SamplingParams(n=1)
the second line of the prompt about the merger
{ENGINE}Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, \
Waiting: 0 reqs, GPU KV cache usage: 4.5%, Prefix cache hit rate: 0.0%
INFO:     10.11.12.13:5 - "POST /v1/chat/completions?user=alice HTTP/1.1" 200 OK
{ENGINE}ValueError: alice asked of the merger
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB. See /home/alice/x and [fd00::7]
"""
ARGV = (
    "vllm",
    "serve",
    "/data/projectx/acme-70b-chat",
    "--host",
    "gpu7",
    "--hf-token=hushhush1",
    "--max-num-seqs",
    "77",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    redactor = Redactor(Address.parse("http://alice:s3cret@gpu7.acme.com:8000"), ("s3cret",))
    with Recorder(tmp_path / "r", redactor) as recorder:
        recorder.facts(ServerFacts('{"version":"0.26.0"}', json.dumps(MODELS), json.dumps(INFO)))
        recorder.argv(ARGV)
        recorder.page(1.7959995e9, PAGE.encode())
        recorder.failed(1.7959996e9, "Unreachable gpu7")
        recorder.page(1.7959997e9, PAGE.encode())
        for at in range(0, len(LOG), 37):  # names must not slip through where a chunk ends
            recorder.log(LOG[at : at + 37].encode())
    return tmp_path / "r"


def contents(folder: Path) -> dict[str, bytes]:
    read = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in read.items()}


def test_no_planted_name_is_in_any_byte(folder: Path) -> None:
    found = contents(folder)
    assert {"metrics.prom.gz", "server.log.gz", "server_info.json", "models.json", "argv.json", "version.json"} == set(
        found
    )
    leaks = [(name, word) for name, data in found.items() for word in PLANTED if word.encode() in data.lower()]
    assert leaks == []


def test_what_a_diagnosis_needs_is_still_there(folder: Path) -> None:
    recording = read_recording(folder)
    assert recording.version == "0.26.0"
    assert "max_num_seqs=77" in recording.server_info
    assert recording.argv[-2:] == ("--max-num-seqs", "77")
    assert recording.metrics.values.shape == (6, 2)
    served = recording.metrics.keys[0].label("model_name")
    assert served == json.loads(contents(folder)["models.json"])["data"][0]["id"]
    assert f"served_model_name={served}" in recording.server_info
    texts = [line.text for line in recording.log]
    assert any("Running: 3 reqs" in text for text in texts)
    assert any("OutOfMemoryError" in text for text in texts)
    assert any("'max_num_seqs': 77" in text for text in texts)


@pytest.mark.parametrize("name", recording_names())
def test_a_real_page_keeps_every_number(shared: Path, name: str) -> None:
    text = gzip.decompress((shared / "recordings" / name / "metrics.prom.gz").read_bytes())
    page = text.split(b"# scrape ")[2].partition(b"\n")[2]
    parser, redacted = PageParser(), PageParser()
    before = parser.parse(page)
    after = redacted.parse(Redactor().page(page))
    np.testing.assert_array_equal(before.values, after.values)
    assert [key.name for key in parser.keys] == [key.name for key in redacted.keys]
    assert before.types == after.types
    assert {key.label("model_name") for key in redacted.keys} - {""} == {"model-1"}
