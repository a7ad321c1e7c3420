from pathlib import Path

import pytest

from whystall.sources.live.cgroup import cpu_group, throttling


@pytest.fixture
def tree(tmp_path: Path):
    """Writes files below a made-up /proc and /sys/fs/cgroup."""

    def write(**files: str) -> tuple[Path, Path]:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "proc", tmp_path / "cg"

    return write


def test_version_2(tree) -> None:
    proc, cgroups = tree(
        proc__7__cgroup="0::/kube/pod/c\n",
        cg__kube__pod__c__cpu_dot_max="250000 100000\n",
        cg__kube__pod__c__cpu_dot_stat="usage_usec 5\nnr_periods 100\nnr_throttled 25\nthrottled_usec 1500000\n",
        cg__kube__pod__cpu_dot_max="max 100000\n",
    )
    group = cpu_group(7, proc, cgroups)
    assert group is not None
    assert (group.quota, group.version) == (2.5, 2)
    assert throttling(group) == {"periods": 100.0, "throttled_periods": 25.0, "throttled_s": 1.5}


def test_the_tightest_group_above_counts(tree) -> None:
    proc, cgroups = tree(
        proc__7__cgroup="0::/pod/c\n",
        cg__pod__c__cpu_dot_max="max 100000\n",
        cg__pod__cpu_dot_max="50000 100000\n",
        cg__cpu_dot_max="400000 100000\n",
    )
    group = cpu_group(7, proc, cgroups)
    assert group is not None
    assert group.quota == 0.5
    assert group.folder.name == "pod"


def test_within_a_container_the_path_may_be_the_hosts(tree) -> None:
    proc, cgroups = tree(proc__7__cgroup="0::/docker/0123abc\n", cg__cpu_dot_max="100000 100000\n")
    group = cpu_group(7, proc, cgroups)
    assert group is not None
    assert group.quota == 1.0


def test_version_1(tree) -> None:
    proc, cgroups = tree(
        proc__7__cgroup="5:memory:/x\n4:cpu,cpuacct:/a/b\n0::/\n",
        cg__cpu__a__b__cpu_dot_cfs_quota_us="150000\n",
        cg__cpu__a__b__cpu_dot_cfs_period_us="100000\n",
        cg__cpu__a__b__cpu_dot_stat="nr_periods 10\nnr_throttled 5\nthrottled_time 2000000000\n",
    )
    group = cpu_group(7, proc, cgroups)
    assert group is not None
    assert (group.quota, group.version) == (1.5, 1)
    assert throttling(group)["throttled_s"] == 2.0


@pytest.mark.parametrize("quota", ["max 100000", "-1", "", "x y", "5 0"])
def test_no_quota_is_no_group(tree, quota: str) -> None:
    proc, cgroups = tree(proc__7__cgroup="0::/c\n", cg__c__cpu_dot_max=quota)
    assert cpu_group(7, proc, cgroups) is None


def test_a_process_that_has_gone(tmp_path: Path) -> None:
    assert cpu_group(7, tmp_path, tmp_path) is None


def test_a_path_that_would_climb_out_does_not(tree) -> None:
    proc, cgroups = tree(proc__7__cgroup="0::/../../secret\n", secret__cpu_dot_max="100000 100000\n")
    assert cpu_group(7, proc, cgroups) is None
