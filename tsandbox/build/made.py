"""Which image was built or imported under a key: an engine's id of an image is a hash of its content."""

import time
from contextlib import suppress
from pathlib import Path

from tsandbox import settings


def note_made(engine: str, key: str, image_id: str) -> None:
    """Without this record nothing is lost but the check of `cache verify`."""
    path = _path(engine, key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{time.monotonic_ns()}")
        temporary.write_text(image_id, encoding="utf-8")
        temporary.replace(path)


def image_id(engine: str, key: str) -> str | None:
    try:
        return _path(engine, key).read_text(encoding="utf-8")
    except OSError:
        return None


def forget(engine: str, key: str) -> None:
    with suppress(OSError):
        _path(engine, key).unlink()


def _path(engine: str, key: str) -> Path:
    return settings.state_dir() / "made" / engine / key.removeprefix("sha256:")
