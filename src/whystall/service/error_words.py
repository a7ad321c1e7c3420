"""What an error says, in both languages: errors are written in English, and a dashboard is read in Chinese, too.

A message is found again by its form, so that nothing in the layers below need know of a second language; one that is in no
form known here keeps its English words behind the name of what went wrong.
"""

from __future__ import annotations

import re

from whystall.errors import WhystallError
from whystall.model.text import Text

_NAMES = {
    "Unreachable": "无法连接",
    "TimedOut": "超时",
    "AccessDenied": "拒绝访问",
    "TlsFailed": "TLS 连接失败",
    "NotMetrics": "不是指标页面",
    "TooLarge": "过大",
    "Unavailable": "暂不可用",
    "TooLittleData": "数据不足",
    "NoSamples": "没有新样本",
    "NotWritable": "无法写入",
    "StoreLocked": "存储被占用",
    "StoreDamaged": "存储已损坏",
    "NotATrace": "不是可识别的剖析文件",
    "NoSuchCase": "没有此案例",
    "MixedServers": "同一地址背后有多个服务器",
    "UsageError": "请求有误",
    "InputError": "输入有误",
    "Refused": "被拒绝",
}
# What the operating system says, as far as it is about a connection.
_REASONS = {
    "Connection refused": "连接被拒绝",
    "No route to host": "没有到主机的路由",
    "Network is unreachable": "网络不可达",
    "Connection timed out": "连接超时",
    "Connection reset by peer": "连接被对端重置",
    "No space left on device": "磁盘已满",
    "Permission denied": "没有权限",
}
_FORMS = [
    # a server's page
    (r"nothing answers at (\S+): (.+)", "{0} 没有应答：{1}"),
    (r"(\S+) gave no whole answer within (\S+) s", "{0} 在 {1} 秒内没有给出完整应答"),
    (r"the name of (\S+) is not known", "无法解析 {0} 的主机名"),
    (r"(\S+) is not an address", "{0} 不是地址"),
    (r"(\S+) broke off its answer \((.+)\)", "{0} 的应答中断（{1}）"),
    (r"no trusted connection to (\S+): (.+)", "与 {0} 的连接不可信：{1}"),
    (r"(\S+) answered (\d+): it wants credentials, or not these", "{0} 返回 {1}：需要凭据，或所给凭据不对"),
    (r"(\S+) answered (\d+): it wants a token, or not this one", "{0} 返回 {1}：需要令牌，或所给令牌不对"),
    (r"(\S+) answered (\d+), no page", "{0} 返回 {1}，没有页面"),
    (r"(\S+) answered (\d+)", "{0} 返回 {1}"),
    (r"(\S+) answered (\d+): (.*)", "{0} 返回 {1}：{2}"),
    (r"(\S+) answered packed as (.+), which was not asked for", "{0} 以未请求的 {1} 方式压缩应答"),
    (r"(\S+) does not exist \(404\)", "{0} 不存在（404）"),
    (r"(\S+) is an empty page", "{0} 是空页面"),
    (r"(\S+) is not a page of metrics", "{0} 不是指标页面"),
    (r"(\S+) sent more than (\d+) MB", "{0} 发送的内容超过 {1} MB"),
    (r"(\S+) sent gzip that is cut or has something behind it", "{0} 发送的 gzip 不完整或带有多余内容"),
    (r"(\S+) sent gzip that cannot be unpacked: (.+)", "{0} 发送的 gzip 无法解压：{1}"),
    (r"(\S+) redirects to (\S+), another server; it was not followed", "{0} 重定向到另一服务器 {1}；未跟随"),
    (r"(\S+) redirects in a circle", "{0} 循环重定向"),
    (r"(\S+) gave no page: (.+)", "{0} 没有给出页面：{1}"),
    # a Prometheus, a cluster
    (r"(\S+) gave half an answer(?: \((\d+)\))?", "{0} 的应答不完整"),
    (r"(\S+) gave no answer of a Prometheus \((\d+)\)", "{0} 的应答不是 Prometheus 的（{1}）"),
    (r"(\S+) gave no answer of an API server", "{0} 的应答不是 API 服务器的"),
    (r"(\S+) answered with a (.+) where samples were asked for", "向 {0} 请求样本，返回的却是 {1}"),
    (r"(\S+) holds more samples than it answers with: (.+)", "{0} 的样本超过其应答上限：{1}"),
    (r"(\S+) cannot read the selector: (.+)", "{0} 无法读取该选择器：{1}"),
    (r"(\S+) refused the query: (.+)", "{0} 拒绝了查询：{1}"),
    (
        r"(\S+) has no series of a vLLM server in those (\d+) s(?: under (\{.*\}))?",
        "{0} 在这 {1} 秒内没有 vLLM 服务器的序列",
    ),
    (r"Prometheus has no new samples of it", "Prometheus 没有它的新样本"),
    (r"Ray counts it as running, and its series left the page", "Ray 认为它仍在运行，但其序列已从页面消失"),
    (r"no page of the cluster has a vLLM engine \((.*)\)", "集群的页面中没有 vLLM 引擎（{0}）"),
    (r"(\S+) is not a Ray dashboard \(no ray_version\)", "{0} 不是 Ray dashboard（没有 ray_version）"),
    (r"(\S+) names no pages of metrics: (\d+)", "{0} 没有给出指标页面：{1}"),
    (r"the Deployment (\S+) has no pod with an engine", "Deployment {0} 没有运行引擎的 Pod"),
    (r"namespace (\S+) has no pod with an engine", "命名空间 {0} 没有运行引擎的 Pod"),
    (r"the cluster has no (\S+): (.*)", "集群中没有 {0}：{1}"),
    # the store
    (r"(.+) cannot grow: the disk is full", "{0} 无法增长：磁盘已满"),
    (r"(.+) is locked by another program", "{0} 被另一程序锁定"),
    (r"(.+) cannot be written: (.+)", "{0} 无法写入：{1}"),
    (r"(.+) cannot be made: (.+)", "{0} 无法创建：{1}"),
    # what a page asks for
    (r"(.+) is in no format known here", "{0} 的格式无法识别"),
    (r"the file is empty", "文件是空的"),
    (r"the file is larger than (.+)", "文件大于 {0}"),
    (r"at most (.+) are read here", "此处最多读取 {0}"),
    (r"the answer takes (.+)", "应答需要 {0}"),
    (r"the upload cannot be kept while it is read: (.+)", "读取期间无法暂存上传内容：{0}"),
    (r"too many ask at once", "同时请求过多"),
    (r"not done after (.+) s", "{0} 秒内未完成"),
    (r"it takes more than (.+) GiB of memory", "所需内存超过 {0} GiB"),
    (r"the process that worked on it was killed; probably it took too much memory", "处理进程被终止，可能占用内存过多"),
    (r"there is no engine in this window", "此时段内没有引擎"),
    (r"a question of over (.+) bytes", "请求超过 {0} 字节"),
    (r"over (\d+) changes at once", "一次改动超过 {0} 项"),
    (r"no cases are kept", "没有保存案例"),
    (r"the server would refuse to start: (.+)", "服务器将拒绝启动：{0}"),
    # what to do next
    (r"Run the same with the command line, where nothing bounds it\.", "改用命令行运行，那里没有限制。"),
    (r"Run `(.+)` on it instead\.", "改为对它运行 `{0}`。"),
    (r"Ask for fewer changes at once\.|Ask for fewer\.", "请减少一次请求的改动。"),
    (r"Wait for a few scrapes\.", "请等待几次抓取。"),
    (r"Try again in a moment\.", "请稍后再试。"),
    (r"Make room where temporary files go\.", "请为临时文件腾出空间。"),
    (r"Choose one that holds something\.", "请选择有内容的文件。"),
    (r"Restore a copy of the store\.", "请恢复存储的副本。"),
    (r"Known: (.+)\.", "可识别的格式：{0}。"),
]
_KNOWN = [(re.compile(form, re.DOTALL), zh) for form, zh in _FORMS]


def error_text(name: str, message: str = "") -> Text:
    """``Unreachable: nothing answers at …`` in both languages; the name alone where it says nothing more."""
    zh = _NAMES.get(name, name)
    if not message:
        return Text(name, f"{zh}（{name}）" if zh != name else name)
    return Text(f"{name}: {message}", f"{zh}：{in_chinese(message)}")


def told(error: WhystallError) -> Text:
    """An error's message without its name."""
    known = in_chinese(error.message)
    zh = _NAMES.get(type(error).__name__, "") if known == error.message else ""
    return Text(error.message, f"{zh}：{known}" if zh else known)


def in_chinese(message: str) -> str:
    """A message in Chinese, as it is where its form is not known."""
    for form, zh in _KNOWN:
        found = form.fullmatch(message)
        if found is not None:
            return zh.format(*(_REASONS.get(part or "", part or "") for part in found.groups()))
    return message
