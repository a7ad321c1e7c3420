"""--otlp-traces-endpoint: spans of the requests."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="otlp_traces_endpoint",
    group="observability",
    kind="text",
    what=Text(
        "Sends one span a request to an OpenTelemetry collector.", "每个请求向 OpenTelemetry 收集器发送一个 span。"
    ),
    spellings=(Spelling("--otlp-traces-endpoint", since="0.5.0"),),
    defaults=(Default("None"),),
    up=Text(
        "A small cost a request; sampling is set by OTEL_TRACES_SAMPLER.",
        "每个请求代价很小；采样由 OTEL_TRACES_SAMPLER 设置。",
    ),
    raising={"cpu": "worse"},
)
