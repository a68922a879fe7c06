"""Two requests to the kernel about this process, for which Python's library has no words."""

import ctypes
import os
import signal
from contextlib import suppress

_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4


def close_memory() -> None:
    """Without this, every process of the same user may read our memory and open our descriptors."""
    _prctl(_SET_DUMPABLE, 0)


def end_with(parent: int) -> None:
    """On a host there is no container to remove: should the process that started us be killed, we end as well."""
    _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        # It was killed before it could be asked to tell.
        os.kill(os.getpid(), signal.SIGTERM)


def _prctl(request: int, value: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(request, value, 0, 0, 0)
