"""Checks of the machine and the account: resource limits, sub-ids, disk."""

import os
import pwd
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tsandbox import settings
from tsandbox.build.doctor.check import Check, gigabytes

_FILES = 4096
_PROCESSES = 1024
_SUB_IDS = 65536
_LITTLE, _TOO_LITTLE = 5e9, 1e9


def ulimits() -> Check:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    found = f"at most {_shown(files)} open files and {_shown(processes)} processes"
    low = [
        name
        for name, value, least in (("nofile", files, _FILES), ("nproc", processes, _PROCESSES))
        if value != resource.RLIM_INFINITY and value < least
    ]
    if not low:
        return Check(name="ulimits", state="ok", found=found)
    return Check(
        name="ulimits",
        state="warning",
        found=found,
        meaning="large builds and source builds may run into these limits",
        fix=f"raise {' and '.join(low)} in /etc/security/limits.conf (or LimitNOFILE= of the service), log in again",
    )


def _shown(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def sub_ids(etc: Path = Path("/etc"), uid: int | None = None) -> Check:
    """Rootless containers map their users to these ids."""
    own = os.geteuid() if uid is None else uid
    if own == 0:
        return Check(name="subuid", state="info", found="not needed: you are root")
    user = _user_name(own)
    counts = {name: _range(etc / name, user, own) for name in ("subuid", "subgid")}
    found = ", ".join(f"{count} {name}s" for name, count in counts.items())
    missing = shutil.which("newuidmap") is None or shutil.which("newgidmap") is None
    short = [name for name, count in counts.items() if count < _SUB_IDS]
    if not short and not missing:
        return Check(name="subuid", state="ok", found=f"{found} for {user}")
    fixes = ["sudo apt-get install uidmap"] if missing else []
    if short:
        first = 100000
        words = " ".join(f"--add-{name}s {first}-{first + _SUB_IDS - 1}" for name in short)
        fixes += [f"sudo usermod {words} {user}", "podman system migrate"]
    return Check(
        name="subuid",
        state="warning",
        found=f"{found} for {user}" + ("; newuidmap is not installed" if missing else ""),
        meaning="rootless podman and docker need 65536 of each to unpack images",
        fix=" && ".join(fixes),
    )


def _range(path: Path, user: str, uid: int) -> int:
    total = 0
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = line.split(":")
            if len(fields) == 3 and fields[0] in {user, str(uid)} and fields[2].isdecimal():
                total += int(fields[2])
    return total


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def disk(places: dict[str, Path]) -> Iterator[Check]:
    """One check per file system, for what lies on it."""
    by_device: dict[int, list[str]] = {}
    free: dict[int, tuple[int, Path]] = {}
    for what, path in places.items():
        existing = next((parent for parent in (path, *path.parents) if parent.exists()), Path("/"))
        device = existing.stat().st_dev
        by_device.setdefault(device, []).append(what)
        free[device] = (shutil.disk_usage(existing).free, existing)
    for device, names in by_device.items():
        left, where = free[device]
        yield _space(", ".join(names), left, where)


def _space(what: str, left: int, where: Path) -> Check:
    found = f"{gigabytes(left)} free for {what} ({where})"
    if left >= _LITTLE:
        return Check(name="disk", state="ok", found=found)
    return Check(
        name="disk",
        state="failed" if left < _TOO_LITTLE else "warning",
        found=found,
        meaning="an image takes up to 1 GB while it is built",
        fix="tsandbox cache gc --older-than 7d, then see `df -h`",
    )


def directories() -> Check:
    """What tsandbox keeps between runs, and what it can make again."""
    places = {"state": settings.state_dir(), "cache": settings.cache_dir()}
    closed = [f"{path} ({name})" for name, path in places.items() if not _writable(path)]
    found = ", ".join(str(path) for path in places.values())
    if not closed:
        return Check(name="directories", state="ok", found=found)
    return Check(
        name="directories",
        state="failed",
        found=f"cannot be written: {', '.join(closed)}",
        meaning="nothing can be remembered or cached",
        fix="set TSANDBOX_STATE_DIR and TSANDBOX_CACHE_DIR to directories of your own, or chown these",
        remedy="directories",
    )


def _writable(path: Path) -> bool:
    existing = next((parent for parent in (path, *path.parents) if parent.exists()), Path("/"))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
