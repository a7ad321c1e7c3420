"""The words of a what-if, in each language."""

from __future__ import annotations

from whystall.model.prediction import METRIC_NAMES
from whystall.model.text import Text

WHATIF_PHRASES: dict[str, Text] = {
    "advice_recommend": Text("recommended", "建议"),
    "advice_canary": Text("on one replica only", "仅限单副本试行"),
    "advice_no": Text("not advised", "不建议"),
    "headline": Text("{change}: {advice}; {because}", "{change}：{advice}；{because}"),
    "best": Text("Best of {count}: {change}, {advice}; {because}", "{count} 个中最优：{change}，{advice}；{because}"),
    "none": Text("Nothing can be predicted: {because}", "无法预测：{because}"),
    "binds": Text("Then binds {what}", "之后的瓶颈：{what}"),
    "nothing_binds": Text("Then nothing binds: {what}", "之后无瓶颈：{what}"),
    "metric": Text("Metric", "指标"),
    "now": Text("Now", "当前"),
    "predicted": Text("Predicted", "预测"),
    "interval": Text("90% interval", "90% 区间"),
    "relative": Text("Change", "变化"),
    "harm": Text("P(harm)", "有害概率"),
    "meets": Text("P(helps)", "见效概率"),
    "advice": Text("Advice", "建议"),
    "next": Text("Binds next", "下一个瓶颈"),
    "changes": Text("Changes compared", "各改动对比"),
    "table": Text(
        "Now and with {change}, over {seconds} from {start}", "当前与改为 {change} 后，自 {start} 起 {seconds}"
    ),
    "not_predicted": Text("Not predicted", "未预测"),
    "because": Text("Because", "原因"),
    "warnings": Text("Read with care", "注意"),
    "note": Text(
        "{draws} pairs of runs on the emulator, the same load in both; steps: {profile}",
        "仿真 {draws} 组，两侧负载相同；步模型：{profile}",
    ),
    "to": Text("{low} to {high}", "{low} 至 {high}"),
    "removed": Text("without {flag}", "去掉 {flag}"),
    "not_seen": Text("not seen", "未见"),
    **{str(metric): name for metric, name in METRIC_NAMES.items()},
}
