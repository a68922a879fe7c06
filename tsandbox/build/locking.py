"""One process, or thread, at a time: file locks that leave no files behind."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tsandbox import settings
from tsandbox.errors import TimedOut

_POLL = 0.05


@contextmanager
def locked(name: str, *, timeout: float | None = None, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `name`; `on_wait` is called once when somebody else has it."""
    path = _directory() / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = _acquire(path, None if timeout is None else time.monotonic() + timeout, on_wait)
    try:
        yield
    finally:
        # Removed while it is held: whoever waits for the removed file notices in `_is_current`.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def sweep() -> None:
    """Remove the files of locks whose holders were killed; one that is held stays."""
    for path in _directory().glob("*.lock"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if _try(descriptor) and _is_current(descriptor, path):
                    path.unlink()
            finally:
                os.close(descriptor)


def _directory() -> Path:
    return settings.state_dir() / "locks"


def _acquire(path: Path, deadline: float | None, on_wait: Callable[[], None] | None) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if _try(descriptor) and _is_current(descriptor, path):
            return descriptor
        os.close(descriptor)
        if on_wait:
            on_wait()
            on_wait = None
        if deadline is not None and time.monotonic() > deadline:
            raise TimedOut(f"another process still works on the same image; it holds {path}", stage="build")
        # Polled, not waited for, so that Ctrl-C and the deadline are noticed in every thread.
        time.sleep(_POLL)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
