"""Metrics of the API process that are not the engine's: HTTP, the process, Python. Any FastAPI server has them."""

from __future__ import annotations

from whystall.model.text import Text

from .entry import Kind, MetricEntry


def _entry(name: str, kind: Kind, unit: str, en: str, zh: str) -> MetricEntry:
    return MetricEntry(name, kind, unit, Text(en, zh), prefix="")


ENTRIES: tuple[MetricEntry, ...] = (
    _entry(
        "http_requests",
        "counter",
        "req",
        "HTTP requests, by handler, method and status class.",
        "HTTP 请求数，按路径、方法和状态类别划分。",
    ),
    _entry("http_request_size_bytes", "summary", "bytes", "Size of HTTP requests.", "HTTP 请求大小。"),
    _entry("http_response_size_bytes", "summary", "bytes", "Size of HTTP responses.", "HTTP 响应大小。"),
    _entry(
        "http_request_duration_highr_seconds",
        "histogram",
        "s",
        "Time of HTTP requests; for a stream it ends when the stream ends.",
        "HTTP 请求时间；流式响应在流结束时截止。",
    ),
    _entry(
        "http_request_duration_seconds",
        "histogram",
        "s",
        "Time of HTTP requests, by handler; for a stream it ends when the stream ends.",
        "按路径划分的 HTTP 请求时间；流式响应在流结束时截止。",
    ),
    _entry(
        "process_cpu_seconds",
        "counter",
        "s",
        "CPU time of the API process only, not of the engine; a rate near 1.0 is one core saturated.",
        "仅 API 进程的 CPU 时间，不含引擎；速率接近 1.0 表示占满一个核。",
    ),
    _entry(
        "process_resident_memory_bytes", "gauge", "bytes", "Memory of the API process only.", "仅 API 进程的常驻内存。"
    ),
    _entry(
        "process_virtual_memory_bytes", "gauge", "bytes", "Address space of the API process.", "API 进程的虚拟内存。"
    ),
    _entry("process_start_time_seconds", "gauge", "unix s", "When the API process started.", "API 进程的启动时间。"),
    _entry(
        "process_open_fds", "gauge", "1", "Open file descriptors of the API process.", "API 进程打开的文件描述符数。"
    ),
    _entry(
        "process_max_fds", "gauge", "1", "Most file descriptors the API process may open.", "API 进程的文件描述符上限。"
    ),
    _entry(
        "python_gc_objects_collected",
        "counter",
        "1",
        "Objects freed by Python's garbage collector.",
        "Python 垃圾回收释放的对象数。",
    ),
    _entry(
        "python_gc_objects_uncollectable",
        "counter",
        "1",
        "Objects the collector could not free.",
        "垃圾回收无法释放的对象数。",
    ),
    _entry("python_gc_collections", "counter", "1", "Garbage collections, by generation.", "按代划分的垃圾回收次数。"),
    _entry("python_info", "gauge", "1", "The Python version, in the labels.", "Python 版本，见标签。"),
)
