"""What is said about input that was handled: the words of every warning, by its id."""

from __future__ import annotations

from whystall.model.recording import InputWarning
from whystall.model.text import Text

_WORDS = {
    "truncated_gzip": Text(
        "{file} stops before its end, as a killed recorder leaves it; what it holds was read",
        "{file} 未写完即中断（如录制进程被杀），已读取其中已有的内容",
    ),
    "damaged_gzip": Text(
        "{file} is damaged; what came before the damage was read", "{file} 已损坏，已读取损坏之前的内容"
    ),
    "cut_page": Text("a page at an end of {file} is cut and was left out", "{file} 首尾处有一页不完整，已忽略"),
    "bad_page": Text(
        "{count:1 page|# pages} of {file} could not be read: lost as scrapes; the first: {first}",
        "{file} 中有 {count:~6} 页无法读取，按抓取失败处理；第一处：{first}",
    ),
    "failed_scrapes": Text(
        "{count:~6} of {total:1 scrape|# scrapes} failed", "{total:~6} 次抓取中有 {count:~6} 次失败"
    ),
    "duplicate_scrape": Text(
        "{count:1 scrape has|# scrapes have} the time of the one before in {file}; the later page was kept",
        "{file} 中有 {count:~6} 次抓取与前一次时间相同，保留了后一页",
    ),
    "duplicate_series": Text(
        "{count:1 sample stands|# samples stand} twice on the page in {file}; the last one was kept",
        "{file} 中有 {count:~6} 个样本在同一页重复出现，保留了最后一个",
    ),
    "nan_values": Text(
        "{count:1 counter or histogram sample|# counter or histogram samples} of {file} read NaN: taken as not seen",
        "{file} 中有 {count:~6} 个计数器或直方图样本为 NaN，按未观测处理",
    ),
    "negative_counter": Text(
        "{count:1 counter sample|# counter samples} of {file} below zero or infinite, as none is: taken as not seen",
        "{file} 中有 {count:~6} 个计数器样本为负或无穷，不可能出现，按未观测处理",
    ),
    "clock_step": Text(
        "the collector's clock stepped back {count:1 time|# times} in {file}; later times were moved forward to follow on",
        "{file} 中采集端时钟回拨 {count:~6} 次，其后的时间已顺延",
    ),
    "bad_lines": Text(
        "{count:1 line|# lines} of {file} left out: not what such a line should be",
        "{file} 中有 {count:~6} 行格式不符，已忽略",
    ),
    "not_utf8_log": Text(
        "{file} is not all UTF-8; {count:1 character was|# characters were} replaced",
        "{file} 含非 UTF-8 内容，已替换 {count:~6} 个字符",
    ),
    "long_log": Text(
        "{file} is long; its first {head} MB and last {tail} MB were read",
        "{file} 较长，只读取了开头 {head} MB 和末尾 {tail} MB",
    ),
    "log_clock": Text(
        "the time zone of {file} could not be told from the server's start; its last line was put at the recording's end",
        "无法根据服务启动时间判断 {file} 的时区，已将其最后一行对齐到录制结束时刻",
    ),
    "unreadable_file": Text("{file} was left out: {first}", "已忽略 {file}：{first}"),
}


def notice(kind: str, file: str = "", **values: object) -> InputWarning:
    """The warning ``kind`` about ``file``, with its numbers."""
    return InputWarning(kind, _WORDS[kind].format(file=file, **values), file)


def notice_ids() -> tuple[str, ...]:
    return tuple(_WORDS)
