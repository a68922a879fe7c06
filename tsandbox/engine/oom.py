"""Did the kernel end a container for want of memory?

Podman's monitor notes it in a file named `oom` in the directory where podman was started, which is not where podman 4.3
looks for it. So podman starts each container in a directory of its own: the note is found there, and does not turn up
in whatever directory the user stands.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from tsandbox import settings
from tsandbox.engine import owner


def _top() -> Path:
    return settings.state_dir() / "engine" / "starts"


def _place(container: str) -> Path:
    return _top() / f"{owner.mine()}-{container}"


def start_in(container: str) -> Path:
    place = _place(container)
    place.mkdir(parents=True, exist_ok=True)
    return place


def noted(container: str) -> bool:
    return (_place(container) / "oom").exists()


def forget(container: str) -> None:
    shutil.rmtree(_place(container), ignore_errors=True)


def sweep() -> None:
    """Remove what processes that are gone left."""
    with suppress(FileNotFoundError):
        for place in _top().iterdir():
            if not owner.lives(place.name.rpartition("-")[0]):
                shutil.rmtree(place, ignore_errors=True)
