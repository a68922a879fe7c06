"""Whose a directory, image or container is: a process named by its pid and start time, which no other ever shares."""

import os
from contextlib import suppress
from pathlib import Path


def mine() -> str:
    """This process as `pid-start`, for the name of a directory or the value of a label."""
    return f"{os.getpid()}-{started(os.getpid())}"


def lives(owner: str) -> bool:
    """Does the process that `mine` named still run? What is not such a name belongs to nobody who lives."""
    pid, _, start = owner.partition("-")
    return pid.isdecimal() and start != "" and started(int(pid)) == start


def started(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty when it has ended."""
    with suppress(OSError):
        # The name of the program, in parentheses, may hold anything: the numbers follow the last one.
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return "" if fields[0] in {"Z", "X"} else fields[19]
    return ""
