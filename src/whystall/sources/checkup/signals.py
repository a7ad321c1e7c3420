"""Which signals a diagnosis of this server would have, and what gives the others."""

from __future__ import annotations

from whystall.model.checkup import Check
from whystall.model.recording import SeriesKey
from whystall.model.text import Text
from whystall.sources.dialects import quantity

_NEEDS = {"metrics": ("/metrics",), "gpu": ("nvml", "processes"), "host": ("processes",), "log": ("log",)}
_IN_FOLDERS = {
    "client": Text(
        "put the load generator's requests.jsonl into a recording folder and diagnose that",
        "将压测工具的 requests.jsonl 放入录制目录，再诊断该目录",
    ),
    "spans": Text(
        "start the server with --otlp-traces-endpoint, and put spans.jsonl into a recording folder",
        "以 --otlp-traces-endpoint 启动服务器，并将 spans.jsonl 放入录制目录",
    ),
}
_SEEN = Text("available", "可用")
_UNSEEN = Text("not available", "不可用")


def signals(checks: tuple[Check, ...], keys: tuple[SeriesKey, ...], config: bool) -> tuple[Check, ...]:
    """A check a signal. ``config`` is whether ``/server_info`` or the user told the configuration."""
    by_id = {check.id: check for check in checks}
    found = [_signal(signal, [by_id[id] for id in needs if id in by_id]) for signal, needs in _NEEDS.items()]
    found.append(_configuration(by_id, keys, config))
    return (*found, *(Check(signal, "missing", _UNSEEN, how) for signal, how in _IN_FOLDERS.items()))


def _signal(signal: str, checks: list[Check]) -> Check:
    wrong = next((check for check in checks if check.state != "ok"), None)
    if wrong is not None:
        return Check(signal, wrong.state, wrong.text, wrong.how)
    return Check(signal, "ok", _SEEN)


def _configuration(by_id: dict[str, Check], keys: tuple[SeriesKey, ...], config: bool) -> Check:
    told = [id for id in ("log", "command line") if id in by_id and by_id[id].state == "ok"]
    sources = (["/server_info"] if config else []) + told
    if sources:
        return Check("config", "ok", Text("from {names}", "来自 {names}").format(names=", ".join(sources)))
    how = Text("give --log FILE or --server-args TEXT", "请提供 --log FILE 或 --server-args TEXT")
    if any((found := quantity(key.name)) and found.name == "cache_config_info" for key in keys):
        partly = Text(
            "the cache's only, from the page; seats and token budget would be inferred",
            "仅有来自页面的缓存配置；席位与 token 预算将靠推断",
        )
        return Check("config", "ok", partly, how)
    return Check("config", "missing", _UNSEEN, how)
