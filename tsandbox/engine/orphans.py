"""Programs that outlive a tsandbox that was killed: each carries, in its environment, the directory it works for."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "TSANDBOX_WORK"
_GRACE = 5.0


def mark(work: Path) -> dict[str, str]:
    """Environment by which the programs of the work in a directory, and all that they start, can be told."""
    return {VARIABLE: str(work)}


def end(work: Path) -> None:
    """Kill what still works for a directory whose owner is gone, and wait until it has ended."""
    marked = f"{VARIABLE}={work}".encode()
    deadline = time.monotonic() + _GRACE
    while found := _groups(marked):
        for group in found:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _groups(marked: bytes) -> set[int]:
    """Process groups, for a step's program may have cleared its environment. Never our own."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and marked in _environment(entry):
            with suppress(ProcessLookupError):
                found.add(os.getpgid(int(entry.name)))
    return found - {os.getpgid(0)}


def _environment(process: Path) -> list[bytes]:
    with suppress(OSError):
        return (process / "environ").read_bytes().split(b"\0")
    return []
