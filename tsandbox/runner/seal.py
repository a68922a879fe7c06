"""Whose word an event is: the runner seals each with a key that no program of a recipe gets to see.

Such a program shares the container with the runner, and can write to the very pipe on which the runner tells the host
what happens. What it writes there has no seal. The key waits in the output directory, is taken away before the first
step, and lives in the memory of a process that no other one may look into.
"""

import os
from hashlib import blake2b
from pathlib import Path

_KEY = ".key"
_SIZE = 16


def lay(out: Path) -> bytes:
    """On the host, before a run: a fresh key, where the runner finds it.

    Not for the owner alone: the container's user may be another one. The directory of the run lets nobody else through.
    """
    key = os.urandom(32)
    (out / _KEY).write_bytes(key)
    (out / _KEY).chmod(0o644)
    return key


def take(out: Path) -> bytes | None:
    """In the runner, before all else: the key, which nobody finds afterwards; None where nobody laid one."""
    try:
        key = (out / _KEY).read_bytes()
    except FileNotFoundError:
        return None
    (out / _KEY).unlink()
    return key


def sealed(line: bytes, key: bytes) -> bytes:
    return _seal(line, key) + b" " + line


def opened(line: bytes, key: bytes) -> bytes | None:
    """What was sealed; None if it was not, or by somebody else."""
    seal, _, content = line.partition(b" ")
    # A plain comparison: whoever writes here cannot see how long it takes.
    return content if seal == _seal(content, key) else None


def _seal(line: bytes, key: bytes) -> bytes:
    return blake2b(line, key=key, digest_size=_SIZE).hexdigest().encode()
