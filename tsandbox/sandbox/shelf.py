"""The tools that are installed on this host, below one directory of the user's.

`tools/NAME-VERSION` holds a tool, complete or not there for anybody: only a finished one has a receipt. `current/NAME`
leads to the version in use and is replaced in one step; `bin/PROGRAM` leads through it.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tsandbox import settings
from tsandbox.build.locking import locked
from tsandbox.errors import UsageError
from tsandbox.plan import Plan
from tsandbox.runner.run import RECEIPT
from tsandbox.runner.trees import clear
from tsandbox.sandbox.place import Place


class Installed(Struct, frozen=True, kw_only=True):
    """A tool on this host."""

    name: str
    version: str
    path: Path
    # Program → path inside of the tool's directory.
    binaries: dict[str, str] = {}
    dependencies: tuple[str, ...] = ()
    current: bool = False


def installed() -> list[Installed]:
    """Every finished tool on this host, by name."""
    found = [_read(path) for path in sorted(tools_dir().glob(f"[!.]*/{RECEIPT}"))]
    return [tool for tool in found if tool is not None and not _mark(tool.path).exists()]


def remove(name: str) -> list[Installed]:
    """Remove a tool in all its versions; one that others need stays, and the error says who needs it."""
    with locked("host-install"):
        every = installed()
        gone = [tool for tool in every if tool.name == name]
        if not gone:
            from tsandbox.recipe.near import did_you_mean

            guess = did_you_mean(name, [tool.name for tool in every])
            raise UsageError(f"{name} is not installed{guess}", hint="tsandbox list --installed")
        directories = {tool.path.name for tool in gone}
        needing = [tool.name for tool in every if tool not in gone and directories & set(tool.dependencies)]
        if needing:
            raise UsageError(
                f"{name} is needed by {', '.join(needing)}", hint=f"first: tsandbox remove {' '.join(needing)}"
            )
        _unlink_programs(name)
        (_current() / name).unlink(missing_ok=True)
        for tool in gone:
            _delete(tool.path)
        return gone


def program(name: str) -> Path | None:
    """Where a program, or the tool of that name, lies."""
    link = bin_dir() / name
    if link.exists():
        return link.resolve()
    directory = _current() / name
    return directory.resolve() if directory.exists() else None


def bin_dir() -> Path:
    return settings.data_dir() / "bin"


def directory_of(plan: Plan) -> Path:
    return tools_dir() / f"{plan.tool}-{plan.version or 'unversioned'}"


def is_installed(plan: Plan) -> bool:
    directory = directory_of(plan)
    return (directory / RECEIPT).is_file() and not _mark(directory).exists()


@contextmanager
def staging(plan: Plan) -> Iterator[Place]:
    """Leftovers of a killed install are cleared before; what this one began and did not prove is cleared after."""
    tools_dir().mkdir(parents=True, exist_ok=True)
    for work in settings.data_dir().glob(".work-*"):
        clear(work)
    _clear_unproved()
    directories = [directory_of(part) for part in plan.with_dependencies()]
    begun = [directory for directory in directories if not (directory / RECEIPT).is_file()]
    for directory in begun:
        # A receipt says that the steps are done; until the verification has passed, this says that it does not count.
        _mark(directory).touch()
        _delete(directory)
    try:
        with work_place() as place:
            yield place
    except BaseException:
        _clear_unproved()
        raise
    for directory in begun:
        _mark(directory).unlink(missing_ok=True)


@contextmanager
def work_place() -> Iterator[Place]:
    """Inputs and a scratch directory beside the tools, so that files can be moved there in one step."""
    home = settings.data_dir()
    home.mkdir(parents=True, exist_ok=True)
    place = Place(directory=Path(tempfile.mkdtemp(prefix=".work-", dir=home)), container="")
    try:
        (place.inputs / "downloads").mkdir(parents=True)
        place.out.mkdir()
        yield place
    finally:
        clear(place.directory)


def _mark(directory: Path) -> Path:
    return directory.with_name(f".unproved-{directory.name}")


def _clear_unproved() -> None:
    for mark in tools_dir().glob(".unproved-*"):
        _delete(mark.with_name(mark.name.removeprefix(".unproved-")))
        mark.unlink(missing_ok=True)


def _delete(directory: Path) -> None:
    """First out of sight in one step, then file by file."""
    if not directory.exists():
        return
    grave = directory.with_name(f".gone-{directory.name}-{os.getpid()}-{time.monotonic_ns()}")
    directory.rename(grave)
    clear(grave)


def switch(plan: Plan) -> None:
    """Make the new version the one in use. One rename switches all its programs; the old version goes afterwards."""
    for part in plan.with_dependencies():
        _drop_empty(directory_of(part))
        tool = _read(directory_of(part) / RECEIPT)
        link = _current() / part.tool
        if tool is None or (part is not plan and link.exists()):
            continue
        before = link.resolve() if link.is_symlink() else None
        _point(link, Path("..") / "tools" / tool.path.name)
        for name, inside in tool.binaries.items():
            _point(bin_dir() / name, Path("..") / "current" / part.tool / inside)
        _drop_stale_programs(part.tool)
        if before is not None and before != tool.path.resolve() and before.is_dir():
            _delete_unless_needed(before)


def _drop_empty(directory: Path) -> None:
    """A recipe of system packages alone installs nothing of its own: there is nothing to list or to remove."""
    if (directory / RECEIPT).is_file() and not any(path.name != RECEIPT for path in directory.iterdir()):
        _delete(directory)


def _point(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def _drop_stale_programs(tool: str) -> None:
    """Programs that an earlier version brought and this one does not."""
    for link in _programs_of(tool):
        if not link.exists():
            link.unlink()


def _unlink_programs(tool: str) -> None:
    for link in _programs_of(tool):
        link.unlink()


def _programs_of(tool: str) -> list[Path]:
    prefix = ("..", "current", tool)
    links = [path for path in bin_dir().glob("*") if path.is_symlink()]
    return [link for link in links if link.readlink().parts[:3] == prefix]


def _delete_unless_needed(directory: Path) -> None:
    if not any(directory.name in tool.dependencies for tool in installed()):
        _delete(directory)


def _read(path: Path) -> Installed | None:
    if path.name != RECEIPT:
        path = path / RECEIPT
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
        directory = path.parent
        current = _current() / receipt["tool"]
        return Installed(
            name=receipt["tool"],
            version=receipt["version"] or "unversioned",
            path=directory,
            binaries=receipt["binaries"],
            dependencies=tuple(receipt["dependencies"]),
            current=current.exists() and current.resolve() == directory.resolve(),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def tools_dir() -> Path:
    return settings.data_dir() / "tools"


def _current() -> Path:
    return settings.data_dir() / "current"
