"""--max-logprobs: log probabilities that a request may ask for."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_logprobs",
    group="compute",
    kind="whole",
    what=Text("Most log probabilities that a request may ask for.", "单个请求可要求的对数概率数量上限。"),
    spellings=(Spelling("--max-logprobs"),),
    defaults=(Default("20"),),
    legal=Legal(low=0, choices=(Choice("-1"),)),
    up=Text(
        "Requests that ask for many cost sampling, a copy to the host and CPU.",
        "要求较多时会增加采样、拷回主机与 CPU 开销。",
    ),
    raising={"cpu": "worse", "itl": "worse"},
    treats=(Treatment("sampler_cpu", "lower"),),
)
