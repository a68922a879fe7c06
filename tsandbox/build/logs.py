"""The whole output of every build, in a file each; the newest are kept."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tsandbox import settings

_KEPT = 200


def directory() -> Path:
    return settings.state_dir() / "logs" / "build"


@contextmanager
def log_file(name: str) -> Iterator[IO[str]]:
    """A new log. What steps print may hold anything, so it is for its owner alone."""
    directory().mkdir(parents=True, exist_ok=True, mode=0o700)
    _forget_old()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = directory() / f"{stamp}-{name}-{secrets.token_hex(3)}.log"
    with path.open("x", encoding="utf-8", errors="replace", buffering=1) as file:
        path.chmod(0o600)
        yield file


def _forget_old() -> None:
    """Names begin with the time, so they sort by age."""
    for path in sorted(directory().glob("*.log"))[: -_KEPT + 1]:
        with suppress(OSError):
            path.unlink()
