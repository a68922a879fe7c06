"""Limits as the kernel enforces them, read from trees as the three kinds of hosts have them."""

from pathlib import Path

import pytest

from tsandbox.engine import cgroup
from tsandbox.engine.protocol import EnforcedLimits

GROUP = "/libpod_parent/libpod-abc"


class Host:
    """A /proc and a /sys/fs/cgroup in a directory."""

    def __init__(self, root: Path) -> None:
        self.proc, self.sys = root / "proc", root / "sys"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "7").mkdir()
        self.mounts: list[str] = ["22 1 0:20 / /proc rw - proc proc rw"]
        self.groups: list[str] = []

    def v1(self, controllers: str, *, root: str = "/") -> Path:
        name = controllers.replace(",", "+")
        self.mounts.append(f"30 23 0:30 {root} {self.sys}/{name} rw,relatime shared:9 - cgroup cgroup rw,{controllers}")
        self.groups.append(f"5:{controllers}:{GROUP}")
        return self._made(self.sys / name / GROUP.removeprefix(root).lstrip("/"))

    def v2(self) -> Path:
        self.mounts.append(f"41 31 0:38 / {self.sys}/unified rw - cgroup2 cgroup2 rw,nsdelegate")
        self.groups.append(f"0::{GROUP}")
        return self._made(self.sys / "unified" / GROUP.lstrip("/"))

    def _made(self, group: Path) -> Path:
        group.mkdir(parents=True)
        (self.proc / "self" / "mountinfo").write_text("\n".join(self.mounts) + "\n")
        (self.proc / "7" / "cgroup").write_text("\n".join(self.groups) + "\n")
        return group

    def limits(self) -> EnforcedLimits:
        return cgroup.limits(7, proc=self.proc)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_version_2(host: Host) -> None:
    group = host.v2()
    (group / "memory.max").write_text("2147483648\n")
    (group / "cpu.max").write_text("150000 100000\n")
    (group / "pids.max").write_text("100\n")
    assert host.limits() == EnforcedLimits(memory=2 << 30, cpus=1.5, pids=100)
    assert cgroup.version(host.proc) == "v2"


def test_version_2_without_limits(host: Host) -> None:
    group = host.v2()
    for name in ("memory.max", "pids.max"):
        (group / name).write_text("max\n")
    (group / "cpu.max").write_text("max 100000\n")
    assert host.limits() == EnforcedLimits(memory=None, cpus=None, pids=None)


def test_version_1_with_joined_controllers(host: Host) -> None:
    (host.v1("memory") / "memory.limit_in_bytes").write_text("67108864\n")
    cpu = host.v1("cpu,cpuacct")
    (cpu / "cpu.cfs_quota_us").write_text("50000\n")
    (cpu / "cpu.cfs_period_us").write_text("100000\n")
    (host.v1("pids") / "pids.max").write_text("57\n")
    assert host.limits() == EnforcedLimits(memory=64 << 20, cpus=0.5, pids=57)
    assert cgroup.version(host.proc) == "v1"


def test_version_1_without_limits(host: Host) -> None:
    (host.v1("memory") / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    cpu = host.v1("cpu")
    (cpu / "cpu.cfs_quota_us").write_text("-1\n")
    (cpu / "cpu.cfs_period_us").write_text("100000\n")
    (host.v1("pids") / "pids.max").write_text("max\n")
    assert host.limits() == EnforcedLimits(memory=None, cpus=None, pids=None)


def test_hybrid_takes_the_controllers_from_version_1(host: Host) -> None:
    (host.v1("memory") / "memory.limit_in_bytes").write_text("67108864\n")
    host.v2()
    assert host.limits() == EnforcedLimits(memory=64 << 20, cpus=None, pids=None)
    assert cgroup.version(host.proc) == "hybrid"


def test_a_mount_of_a_part_of_the_tree(host: Host) -> None:
    """In a container, /sys/fs/cgroup shows a part of the host's tree."""
    (host.v1("pids", root="/libpod_parent") / "pids.max").write_text("57\n")
    assert host.limits().pids == 57


def test_no_groups_at_all(host: Host) -> None:
    (host.proc / "self" / "mountinfo").write_text("22 1 0:20 / /proc rw - proc proc rw\n")
    (host.proc / "7" / "cgroup").write_text("")
    assert host.limits() == EnforcedLimits(memory=None, cpus=None, pids=None)
    assert cgroup.version(host.proc) == "none"


def test_this_very_process_can_be_asked() -> None:
    assert cgroup.version() in {"v1", "v2", "hybrid", "none"}
