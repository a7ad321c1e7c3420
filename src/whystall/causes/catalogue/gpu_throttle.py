"""The GPU's clock is held down and the work with it."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="gpu_throttle",
    title=Text(
        "GPU throttled",
        "GPU 降频",
    ),
    what=Text(
        "Heat, a power brake or a lowered power limit holds the clock down. An active power cap alone is normal at "
        "full load and no cause unless the step time follows the clock.",
        "过热、供电制动或被调低的功率上限压低了时钟。仅有功率上限激活在满载时属正常，除非步时随时钟变化，"
        "否则不是原因。",
    ),
    predicts=Text(
        "Clock under its highest with a thermal or brake reason, or a limit under the board's rating; steps of equal "
        "work slow as the clock falls.",
        "时钟低于最高值并伴有过热或制动原因，或功率上限低于额定值；同等工作的步随时钟下降而变慢。",
    ),
    role="limit",
    bias=-4.5,
    weights={
        "contrast.power": 7.0,  # the same load without it is better: no observation says more
        "gpu.held_down": 4.5,  # the driver names the reason
        "gpu.cap_lowered": 3.0,  # a limit under the rating, reached
        "gpu.step_follows_clock": 1.5,  # the work follows the clock
        "step.residual": 0.7,  # the same work takes longer
        "step.on_gpu": 0.7,  # and the GPU is at it for longer
    },
    links=(
        Link(
            Text(
                "The clock is held down: {gpu_held_down}",
                "时钟被压低：{gpu_held_down}",
            ),
            (Need("gpu.held_down"),),
            rejects=Text(
                "more work: the driver names a reason",
                "工作更多：驱动给出了原因",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The power limit was lowered: {gpu_cap_lowered}",
                "功率上限被调低：{gpu_cap_lowered}",
            ),
            (Need("gpu.cap_lowered"),),
            rejects=Text(
                "the normal cap at full load",
                "满载时的正常上限",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The work follows: {gpu_step_follows_clock}",
                "工作随之变慢：{gpu_step_follows_clock}",
            ),
            (Need("gpu.step_follows_clock"),),
            optional=True,
        ),
    ),
    other_links=(shown_by_contrast("power"),),
    numbers=(
        Text(
            "clock held down {gpu_held_down:.0%} of the time",
            "{gpu_held_down:.0%} 的时间时钟被压低",
        ),
        Text(
            "power limit at {gpu_cap_lowered:.0%} of its rating",
            "功率上限为额定值的 {gpu_cap_lowered:.0%}",
        ),
        Text(
            "{contrast_power:~2} times worse with it than without",
            "使用时比不使用差 {contrast_power:~2} 倍",
        ),
    ),
    first_step=Text(
        "Check cooling and the power limit (nvidia-smi -q -d PERFORMANCE,POWER); restore the limit or move the "
        "replica to another GPU.",
        "检查散热与功率上限（nvidia-smi -q -d PERFORMANCE,POWER）；恢复上限或把副本迁移到别的 GPU。",
    ),
    look_alikes=(
        LookAlike(
            "longer_prompts",
            Text(
                "steps slow in proportion to their tokens at a full clock",
                "时钟满频而步时与 token 成比例",
            ),
        ),
    ),
    hurts_as=("throttle", "itl", "queue", "contrast"),
    order=1,
    settled_by=("gpu",),
)
