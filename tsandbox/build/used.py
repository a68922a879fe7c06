"""When an image was last used, and by whom: one small file per image, whose loss loses nothing but order."""

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox import settings

# Who asked is for people; a popular image need not name everybody.
_MOST = 20


class Use(Struct, frozen=True, kw_only=True):
    last: float
    # Tool → the recipe or plan that asked for the image.
    asked: dict[str, str]


def note_use(engine: str, key: str, tool: str, source: str) -> None:
    """Remember that `tool` used the image just now. A state directory that cannot be written costs the order only."""
    path = _path(engine, key)
    with suppress(OSError):
        asked = _asked(path)
        if asked.get(tool) == source:
            os.utime(path)
            return
        newest = dict(list({**asked, tool: source}.items())[-_MOST:])
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
        temporary.write_bytes(msgspec.json.encode(newest))
        temporary.replace(path)


def last_use(engine: str, key: str) -> Use | None:
    path = _path(engine, key)
    try:
        return Use(last=path.stat().st_mtime, asked=_asked(path))
    except OSError:
        return None


def forget(engine: str, key: str) -> None:
    with suppress(OSError):
        _path(engine, key).unlink()


def _path(engine: str, key: str) -> Path:
    return settings.state_dir() / "used" / engine / f"{key.removeprefix('sha256:')}.json"


def _asked(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}
