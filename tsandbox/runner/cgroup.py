"""What holds this container back, read where its kernel keeps it: the limits, and how often they were hit."""

from pathlib import Path

from tsandbox.runner.failures import Finding

ROOT = Path("/sys/fs/cgroup")
# Version 1 shows "no limit" as the largest page-aligned number, far above any machine's memory.
_UNLIMITED = 1 << 60
_MIB = 1 << 20
# SIGXFSZ: a file was about to grow over the limit; shells add 128.
_FILE_TOO_LARGE = (-25, 128 + 25)


def limits() -> dict[str, float | None]:
    """Memory in bytes, processors and processes that the kernel grants this container; None means no limit."""
    if (ROOT / "cgroup.controllers").exists():
        quota, _, period = (_read("cpu.max") or "max").partition(" ")
        return {
            "memory": _number("memory.max"),
            "cpus": int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None,
            "pids": _number("pids.max"),
        }
    slots, period_us = _number("cpu/cpu.cfs_quota_us"), _number("cpu/cpu.cfs_period_us")
    return {
        "memory": _number("memory/memory.limit_in_bytes"),
        "cpus": slots / period_us if slots and period_us else None,
        "pids": _number("pids/pids.max"),
    }


def reached(exit_code: int) -> list[Finding]:
    """Which limits a failed program has met; the counters are the container's own and start at zero."""
    found = []
    if _counter("oom_kill", "memory.events", "memory/memory.oom_control"):
        limit = limits()["memory"]
        size = f" of {limit / _MIB:.0f} MiB" if limit else ""
        found.append(Finding("out_of_memory", f"it needed more memory than the limit{size}", {"limit": limit}))
    if _counter("max", "pids.events", "pids/pids.events"):
        limit = limits()["pids"]
        count = f" of {limit:.0f}" if limit else ""
        message = f"it started more processes than the limit{count} allows"
        found.append(Finding("too_many_processes", message, {"limit": limit}))
    if exit_code in _FILE_TOO_LARGE:
        found.append(Finding("disk_full", "it wrote a file that is larger than the disk limit", {}))
    return found


def _counter(name: str, *files: str) -> int:
    for file in files:
        for line in (_read(file) or "").splitlines():
            key, _, value = line.partition(" ")
            if key == name and value.isdecimal():
                return int(value)
    return 0


def _number(name: str) -> int | None:
    text = _read(name) or ""
    return int(text) if text.isdecimal() and int(text) < _UNLIMITED else None


def _read(name: str) -> str | None:
    try:
        return (ROOT / name).read_text().strip()
    except OSError:
        return None
