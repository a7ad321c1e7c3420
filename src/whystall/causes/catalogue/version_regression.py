"""The server came back in another version, and its steps are slower."""

from __future__ import annotations

import msgspec

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import STEPS_ARE_SLOWER, shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="version_regression",
    title=Text("Slower after another version", "换版本后变慢"),
    what=Text(
        "After a restart into another version the same batch takes longer per step, at the same settings.",
        "重启为另一个版本后，在同样设置下同样的批次每步更久。",
    ),
    predicts=Text(
        "The log's start-up lines name two versions, and the residual of the step time departs from zero between them.",
        "日志的启动行写有两个版本，步时残差在两者之间偏离零。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "contrast.version": 7.0,  # the same load without it is better: no observation says more
        "version.changed": 4.0,  # what changed is known, and when
        "step.residual": 2.5,  # and the same work takes longer since
        "server.away": 1.0,  # a version comes with a restart
        "config.graph_gap": -2.0,  # batches beyond the graphs wait for their launches
        "gpu.held_down": -2.0,  # the clock explains it
        "step.pauses": -1.5,  # a new version's steps are slower, all of them
    },
    links=(
        # Where the version changed with it, a tenth is a regression, too: it only has to be sure.
        msgspec.structs.replace(STEPS_ARE_SLOWER, needs=(Need("step.residual", 0.02),)),
        Link(
            Text("Since then it is another version: {version_changed}", "自那时起是另一个版本：{version_changed}"),
            (Need("version.changed"),),
            rejects=Text("the load: the batch explains nothing of it", "负载：批次无法解释"),
        ),
    ),
    other_links=(shown_by_contrast("version"),),
    numbers=(
        Text(
            "steps take {step_residual:.1f} times as long at equal work", "同等工作下每步耗时为 {step_residual:.1f} 倍"
        ),
        Text(
            "{contrast_version:~2} times worse with it than without",
            "使用时比不使用差 {contrast_version:~2} 倍",
        ),
    ),
    first_step=Text(
        "Put one replica back to the version before, at equal flags, and compare both under the same load before "
        "anything else is changed.",
        "将一个副本以相同参数退回此前版本，在同样负载下比较两者，其他先不改动。",
    ),
    look_alikes=(
        LookAlike("config_regression", Text("flags differ between the starts", "两次启动的参数不同")),
        LookAlike("warm_up", Text("the excess dies away within minutes", "超出部分在几分钟内消失")),
        LookAlike("slow_kernel", Text("nothing was restarted", "没有重启")),
    ),
    hurts_as=("itl", "queue", "contrast"),
    order=1,
    onset_from=("version.changed", "step.residual"),
    settled_by=("log",),
)
