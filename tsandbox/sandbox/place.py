"""The directory of one run: its inputs, its one writable directory, and a name that says whose it is."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox import settings
from tsandbox.engine import owner, process
from tsandbox.engine.protocol import Engine
from tsandbox.errors import TsandboxError
from tsandbox.plan import Plan
from tsandbox.plan.write import plan_object
from tsandbox.runner.environment import SECRETS
from tsandbox.runner.trees import clear
from tsandbox.sandbox.downloads import Fetched

_NAME = re.compile(r"(?P<engine>[a-z]+)-(?P<owner>\d+-\d*)-(?P<random>[0-9a-f]{12})")
PLAN = "plan.json"


class Place(Struct, frozen=True, kw_only=True):
    directory: Path
    # The container's name: whoever finds the directory of a dead process knows which container to remove.
    container: str

    @property
    def inputs(self) -> Path:
        return self.directory / "in"

    @property
    def out(self) -> Path:
        return self.directory / "out"


@contextmanager
def place(engine: Engine, *, keep: bool) -> Iterator[Place]:
    """A fresh directory; it is gone at the end unless it is to be kept, and the container is gone in any case."""
    _reap(engine)
    random = secrets.token_hex(6)
    directory = runs_dir() / f"{engine.name}-{owner.mine()}-{random}"
    made = Place(directory=directory, container=container_name(random))
    directory.mkdir(parents=True, mode=0o700)
    (made.inputs / "downloads").mkdir(parents=True)
    made.out.mkdir()
    # The container's user may be another than the owner; nobody else gets through the directory above.
    made.out.chmod(0o777)
    try:
        yield made
    finally:
        if keep:
            directory.rename(kept_dir(random))
        else:
            discard(engine, directory)


def kept_dir(random: str) -> Path:
    path = settings.state_dir() / "kept" / random
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def runs_dir() -> Path:
    return settings.state_dir() / "runs"


def container_name(random: str) -> str:
    return f"tsandbox-{random}"


def fill(made: Place, plan: Plan, files: dict[str, Fetched]) -> None:
    """The plan and the downloads, by their digests; a link where the cache lies on the same disk, else a copy."""
    (made.inputs / PLAN).write_bytes(msgspec.json.encode(plan_object(plan)))
    for sha256, fetched in files.items():
        target = made.inputs / "downloads" / sha256
        if not target.exists():
            link_or_copy(fetched.path, target)


def let_read(made: Place) -> None:
    """The container's user may be another than the owner, and the owner's umask may leave nothing to others."""
    for root, _, names in os.walk(made.inputs):
        for path in (Path(root), *(Path(root, name) for name in names)):
            mode = stat.S_IMODE(path.lstat().st_mode)
            wanted = mode | (0o555 if path.is_dir() else 0o444)
            if mode != wanted and not path.is_symlink():
                path.chmod(wanted)


@contextmanager
def secrets_in(made: Place, env: Mapping[str, str]) -> Iterator[None]:
    """Variables that the runner finds beside the plan, as long as it runs.

    Not for the owner alone: the container's user may be another one, without the right to read all; the directory of
    the run lets nobody else through.
    """
    path = made.inputs / SECRETS
    if env:
        path.write_bytes(msgspec.json.encode(dict(env)))
        path.chmod(0o644)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def drop(made: Place, names: Iterable[str]) -> None:
    """Files that the run left in its directory, or whatever the recipe has put in their place."""
    with suppress(OSError):
        made.out.chmod(0o777)
    for path in (made.out / name for name in names):
        if path.is_dir() and not path.is_symlink():
            clear(path)
        else:
            path.unlink(missing_ok=True)


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def discard(engine: Engine, directory: Path) -> None:
    clear(directory)
    if directory.exists() and engine.facts().rootless:
        # Files of other users in the container belong to sub-ids here, which only the user's namespace can remove.
        with suppress(process.CommandFailed):
            process.run([engine.name, "unshare", "rm", "-rf", "--", directory], timeout=120)


def _reap(engine: Engine) -> None:
    """What runs on this engine left whose process was killed: a container, perhaps, and the directory."""
    try:
        entries = list(runs_dir().iterdir())
    except FileNotFoundError:
        return
    for path in entries:
        match = _NAME.fullmatch(path.name)
        if match and match["engine"] == engine.name and not owner.lives(match["owner"]):
            with suppress(TsandboxError):
                engine.remove(container_name(match["random"]))
            discard(engine, path)
