"""A restart with other settings made it slower."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="config_regression",
    title=Text(
        "Settings changed at a restart",
        "重启时改变了设置",
    ),
    what=Text(
        "The server came back with other flags (fewer seats, no prefix cache, a smaller pool, eager "
        "execution), and the loss began with that restart. The limit that binds now is what the new "
        "value sets.",
        "服务器以其他参数重新启动（席位更少、无前缀缓存、更小的池、eager 执行），损失始于该次重启。"
        "现在起作用的限制正是新值所设。",
    ),
    predicts=Text(
        "Flags that differ between two starts, a healthy past before and a loss right after, under the same load.",
        "两次启动之间参数不同，此前健康、随后立即出现损失，负载相同。",
    ),
    role="trigger",
    bias=-2.5,
    weights={
        "config.changed": 8.0,  # the one thing that changed when the loss began
        "requests.more": -0.5,  # a larger load explains a loss by itself
    },
    links=(
        Link(
            Text(
                "Settings changed with the restart: {config_changed}",
                "设置随重启而变：{config_changed}",
            ),
            (Need("config.changed"),),
            rejects=Text(
                "the load: the loss began with the restart",
                "负载：损失始于重启",
            ),
        ),
    ),
    numbers=(
        Text(
            "{config_changed:one setting differs|# settings differ} since",
            "自那时起有 {config_changed:.0f} 项设置不同",
        ),
    ),
    first_step=Text(
        "Go back to the settings before the restart, or change them one at a time: whystall compare "
        "shows what each costs under the same load.",
        "恢复重启前的设置，或逐项改变：whystall compare 显示相同负载下各自的代价。",
    ),
    look_alikes=(
        LookAlike(
            "version_regression",
            Text(
                "the version changed and no setting did",
                "版本改变而设置未变",
            ),
        ),
        LookAlike(
            "seat_cap",
            Text(
                "the seats were as few before",
                "此前席位同样少",
            ),
        ),
        LookAlike(
            "overload",
            Text(
                "the load grew and no setting changed",
                "负载增长而设置未变",
            ),
        ),
        LookAlike(
            "weight_loading",
            Text(
                "the loss is the restart itself, and ends with it",
                "损失就是重启本身，并随之结束",
            ),
        ),
    ),
    hurts_as=(
        "queue",
        "itl",
        "front",
        "host_gap",
        "refusals",
        "stall",
    ),
    restart=True,
    order=0,
    onset_from=("config.changed",),
    settled_by=(
        "log",
        "config",
    ),
)
