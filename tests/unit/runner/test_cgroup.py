"""Limits as the kernel shows them inside of a container, in both versions of control groups."""

from pathlib import Path

import pytest

from tsandbox.runner import cgroup

V2 = {
    "cgroup.controllers": "cpu memory pids",
    "memory.max": "67108864",
    "cpu.max": "150000 100000",
    "pids.max": "30",
    "memory.events": "low 0\noom 1\noom_kill 1",
    "pids.events": "max 4",
}
V1 = {
    "memory/memory.limit_in_bytes": "67108864",
    "cpu/cpu.cfs_quota_us": "150000",
    "cpu/cpu.cfs_period_us": "100000",
    "pids/pids.max": "30",
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1",
    "pids/pids.events": "max 4",
}


def made(root: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    monkeypatch.setattr(cgroup, "ROOT", root)


@pytest.mark.parametrize("files", [V1, V2], ids=["v1", "v2"])
def test_limits_and_hits_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    made(tmp_path, files, monkeypatch)
    assert cgroup.limits() == {"memory": 64 << 20, "cpus": 1.5, "pids": 30}
    memory, processes = cgroup.reached(1)
    assert (memory.kind, processes.kind) == ("out_of_memory", "too_many_processes")
    assert "limit of 64 MiB" in memory.message
    assert "limit of 30" in processes.message


@pytest.mark.parametrize(
    "files",
    [
        {"cgroup.controllers": "", "memory.max": "max", "cpu.max": "max 100000", "pids.max": "max"},
        {"memory/memory.limit_in_bytes": "9223372036854771712", "cpu/cpu.cfs_quota_us": "-1", "pids/pids.max": "max"},
        {},
    ],
    ids=["v2", "v1", "nothing mounted"],
)
def test_no_limit_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    made(tmp_path, files, monkeypatch)
    assert cgroup.limits() == {"memory": None, "cpus": None, "pids": None}
    assert cgroup.reached(1) == []


@pytest.mark.parametrize("code", [-25, 153])
def test_a_file_over_the_limit_shows_in_how_the_program_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    made(tmp_path, {}, monkeypatch)
    [finding] = cgroup.reached(code)
    assert finding.kind == "disk_full"
