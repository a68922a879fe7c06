"""Limits as the kernel enforces them: read from a process's control groups, version 1, 2 or both."""

from pathlib import Path

from tsandbox.engine.protocol import EnforcedLimits

# Version 1 shows "no limit" as the largest page-aligned number, far above any machine's memory.
_UNLIMITED = 1 << 60


def limits(pid: int, *, proc: Path = Path("/proc")) -> EnforcedLimits:
    """The limits on `pid`. The innermost group counts: engines set theirs there."""
    groups = _groups(pid, proc)
    unified = groups.get("")
    return EnforcedLimits(
        memory=_number(unified, "memory.max") or _number(groups.get("memory"), "memory.limit_in_bytes"),
        cpus=_cpus_v2(unified) or _cpus_v1(groups.get("cpu")),
        pids=_number(unified, "pids.max") or _number(groups.get("pids"), "pids.max"),
    )


def version(proc: Path = Path("/proc")) -> str:
    """`v1`, `v2`, `hybrid` (v1 controllers beside a v2 tree without any) or `none`."""
    kinds = {kind for kind, _, _, _ in _mounts(proc)}
    return {
        frozenset({"cgroup"}): "v1",
        frozenset({"cgroup2"}): "v2",
        frozenset({"cgroup", "cgroup2"}): "hybrid",
    }.get(frozenset(kinds), "none")


def _groups(pid: int, proc: Path) -> dict[str, Path]:
    """The process's directory per controller; "" is the unified (v2) tree."""
    paths: dict[str, str] = {}
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    found: dict[str, Path] = {}
    for kind, point, root, options in _mounts(proc):
        for name in [""] if kind == "cgroup2" else options:
            if name in paths:
                found[name] = Path(point) / paths[name].removeprefix(root).lstrip("/")
    return found


def _mounts(proc: Path) -> list[tuple[str, str, str, list[str]]]:
    """Kind, mount point, root and controllers of every cgroup mount."""
    mounts = []
    for line in (proc / "self" / "mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            fields = left.split(" ")
            mounts.append((kind, fields[4], fields[3], options.split(",")))
    return mounts


def _read(group: Path | None, name: str) -> str | None:
    try:
        return None if group is None else (group / name).read_text().strip()
    except OSError:
        return None


def _number(group: Path | None, name: str) -> int | None:
    text = _read(group, name)
    if text is None or not text.isdecimal():
        return None
    return int(text) if int(text) < _UNLIMITED else None


def _cpus_v2(group: Path | None) -> float | None:
    quota, _, period = (_read(group, "cpu.max") or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period)


def _cpus_v1(group: Path | None) -> float | None:
    quota, period = _read(group, "cpu.cfs_quota_us"), _number(group, "cpu.cfs_period_us")
    if quota is None or not quota.isdecimal() or not period:
        return None
    return int(quota) / period
