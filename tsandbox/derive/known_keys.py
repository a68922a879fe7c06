"""Keys that were computed before. Rendering a Dockerfile costs more than finding out that nothing has changed since."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tsandbox import __version__, settings
from tsandbox.derive import bases
from tsandbox.derive.key import ImageDefinition, define_image
from tsandbox.derive.spec import ContainerSpec

_LENGTH = len("sha256:") + 64


def key_of(spec: ContainerSpec) -> str:
    """The key of `spec`: as it was computed before by this very code, or else computed and written down."""
    with suppress(OSError):
        key = _path(spec).read_text(encoding="ascii")
        if len(key) == _LENGTH:
            return key
    return remember_key(spec).key


def remember_key(spec: ContainerSpec) -> ImageDefinition:
    """Compute the definition, and write its key down. A directory that cannot be written costs time only."""
    definition = define_image(spec)
    path = _path(spec)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
        temporary.write_text(definition.key, encoding="ascii")
        temporary.replace(path)
    return definition


def _path(spec: ContainerSpec) -> Path:
    # A `repr` names the types, which the encoded form of a spec does not.
    about = "\n".join([__version__, repr(spec), *_code()])
    return settings.cache_dir() / "keys" / hashlib.sha256(about.encode()).hexdigest()


def _code() -> Iterator[str]:
    """Every file that decides a key, as the disk has it now."""
    room = Path(bases.__file__).parent
    for directory in (room, bases.directory() / "closure"):
        yield from _files(directory)


def _files(directory: Path) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _files(Path(entry.path))
            elif entry.is_file():
                about = entry.stat()
                yield f"{entry.path} {about.st_size} {about.st_mtime_ns}"
