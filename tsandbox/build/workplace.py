"""The directory of one running build: its name says whose it is, so that the next command can clean up after a kill."""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tsandbox import settings
from tsandbox.build import locking
from tsandbox.build.image import UNFINISHED
from tsandbox.derive import ImageDefinition
from tsandbox.engine import orphans, process
from tsandbox.engine.owner import started
from tsandbox.engine.protocol import Engine
from tsandbox.errors import TsandboxError

# Engine, pid and start time of the builder, and a random name. Pid and start time name a process beyond reuse.
_NAME = re.compile(r"(?P<engine>[a-z]+)-(?P<pid>\d+)-(?P<started>\d*)-(?P<random>[0-9a-f]{16})")

_CONTAINER = "container"
# Root in a user namespace with all of the user's sub-ids, for chroot and for files of other owners.
AS_ROOT = ("unshare", "--map-root-user", "--map-auto", "--mount")


class Workplace(NamedTuple):
    directory: Path
    # The name of the image while it is being built.
    tag: str


@contextmanager
def workplace(engine: Engine) -> Iterator[Workplace]:
    """A private directory and a name for the unfinished image; both are gone at the end, whatever happened."""
    random = secrets.token_hex(8)
    path = _directory() / f"{engine.name}-{os.getpid()}-{started(os.getpid())}-{random}"
    path.mkdir(parents=True, mode=0o700)
    try:
        yield Workplace(path, _tag(random))
    except BaseException:
        # What ended the build is the error to tell; a tag that cannot be removed now is left to the next command.
        with suppress(TsandboxError):
            _remove(engine, path, random)
        raise
    _remove(engine, path, random)


def reap(engine: Engine) -> None:
    """Clean up after builds on this engine whose process is gone."""
    locking.sweep()
    try:
        entries = list(_directory().iterdir())
    except FileNotFoundError:
        return
    for path in entries:
        match = _NAME.fullmatch(path.name)
        if match and match["engine"] == engine.name and started(int(match["pid"])) != match["started"]:
            orphans.end(path)
            # What cannot be removed now is left to the next command.
            with suppress(TsandboxError):
                _remove(engine, path, match["random"])


def container_name(place: Workplace) -> str:
    """A name for a container that this work needs; written down first, so that a killed one is found."""
    name = f"tsandbox-build-{secrets.token_hex(8)}"
    (place.directory / _CONTAINER).write_text(name, encoding="utf-8")
    return name


def write_context(definition: ImageDefinition, directory: Path) -> Path:
    """The build context, with the modes that the definition gives and not those of this process's umask."""
    directory.mkdir()
    for name, file in definition.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    for parent, _, _ in os.walk(directory):
        Path(parent).chmod(0o755)
    return directory


def _remove(engine: Engine, path: Path, random: str) -> None:
    with suppress(FileNotFoundError):
        engine.remove((path / _CONTAINER).read_text(encoding="utf-8"))
    engine.remove_image(_tag(random))
    shutil.rmtree(path, ignore_errors=True)
    if path.exists() and os.geteuid():
        # A base is put together with files of other owners, in a user namespace.
        process.run([*AS_ROOT, "rm", "-rf", "--", path], check=False)


def _tag(random: str) -> str:
    return f"{UNFINISHED}:{random}"


def _directory() -> Path:
    return settings.state_dir() / "builds"
