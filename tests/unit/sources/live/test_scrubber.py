import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.live.pseudonyms import Pseudonyms
from whystall.sources.live.scrubber import Scrubber, kind_of, mask_secrets


def scrub(text: str) -> str:
    return Scrubber(Pseudonyms()).text(text)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("model='/models/acme-70b', max_seq_len=4096", "acme"),
        ("'served_model_name': ['acme-a', 'acme-b']", "acme"),
        ("served_model_name=acme,", "acme"),
        ('{"tokenizer": "acme/tok"}', "acme"),
        ("--model acme/llama --port 8000", "acme"),
        ("vllm serve acme/llama --port 8000", "acme"),
        ("saved to /home/alice/x/y.json", "alice"),
        ("see '/srv/My Models/acme'", "acme"),
        ("at ~/acme and ./acme and ../acme", "acme"),
        (r"in C:\Users\alice\x", "alice"),
        ("https://gpu7.acme.internal:8000/v1", "acme"),
        ("host gpu7.acme.com answered", "acme"),
        ("from 10.1.2.3:4444", "10.1.2.3"),
        ("from [fe80::1:2]:80", "fe80"),
        ("2001:db8::17", "2001:db8"),
        ("mail alice@acme.com", "alice"),
        ("alice@gpu7", "alice"),
        ("Authorization: Bearer abc.def", "abc.def"),
        ("api_key='hush-hush'", "hush"),
        ("--api-key hush-hush", "hush"),
        ("HF_TOKEN=hf_abcdefghijkl", "abcdefg"),
        ("key sk-abcdefgh12345", "abcdefgh"),
        ("id 0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("chatcmpl-alice-17 done", "alice"),
        ("host='gpu7'", "gpu7"),
        ("user=alice", "alice"),
        ("chat_template='You are the acme bot'", "acme"),
    ],
)
def test_what_names_someone_goes(text: str, gone: str) -> None:
    assert gone not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_num_batched_tokens=8192, max_num_seqs=256, dtype=torch.bfloat16",
        "Available KV cache memory: 113.96 GiB",
        "GPU KV cache size: 933,568 tokens",
        "Avg prompt throughput: 5.0 tokens/s, Running: 3 reqs, GPU KV cache usage: 4.5%",
        "'host': '127.0.0.1', 'port': 8000, 'model_name': None",
        "handler /v1/chat/completions and /metrics",
        "at 00:45:35, version 0.26.0, 3.12.3",
        "vllm::unified_attention [core.py:116] VLLM::EngineCore",
        "--enable-per-request-metrics --max-model-len 4096 --api-server-count 2",
        "listening on 0.0.0.0:8000 and ::",
        "took 2.5 s (1/2), a / b",
    ],
)
def test_what_the_field_says_stays(text: str) -> None:
    assert scrub(text) == text


def test_a_message_is_cut_where_a_prompt_begins() -> None:
    scrubber = Scrubber(Pseudonyms())
    assert scrubber.message("bad: prompt: 'tell me of acme'") == "bad: [text removed]"
    assert scrubber.message("details: content=['acme']") == "details: [text removed]"
    assert scrubber.message("Avg prompt throughput: 5") == "Avg prompt throughput: 5"


@given(
    st.lists(
        st.sampled_from(["model='a/b'", "/x/y", "10.0.0.1", "a@b.com", "host=q7", "x 5", "'", "=", "[", "::1"]),
        max_size=8,
    )
)
def test_scrubbing_twice_is_scrubbing_once(parts: list[str]) -> None:
    scrubber = Scrubber(Pseudonyms())
    once = scrubber.text(" ".join(parts))
    assert scrubber.text(once) == once


def test_kinds() -> None:
    assert kind_of("served-model-name") == "model"
    assert kind_of("download_dir") == "path"
    assert kind_of("hf_token") == "secret"
    assert kind_of("max_num_batched_tokens") is None
    assert kind_of("max_model_len") is None


def test_secrets_on_a_command_line_are_never_kept() -> None:
    assert mask_secrets(("vllm", "serve", "m", "--api-key", "a", "--hf-token=b", "--port", "1")) == (
        "vllm",
        "serve",
        "m",
        "--api-key",
        "***",
        "--hf-token=***",
        "--port",
        "1",
    )
