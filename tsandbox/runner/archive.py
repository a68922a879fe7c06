"""Unpacking archives nobody has vouched for: nothing lands outside the target, nothing grows without end."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tsandbox.runner.failures import StepFailed

Read = Callable[[int], bytes]
_CHUNK = 1 << 20
# Deeper trees cannot even be removed by ordinary programs.
_DEEPEST = 128
_LONGEST_NAME = 255
_SHOWN = 120


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Beyond these an archive is taken for a bomb. The ratio counts only after the first `small` bytes."""

    size: int = 4 << 30
    entries: int = 200_000
    ratio: int = 400
    small: int = 64 << 20


class Budget:
    """What an archive may still unpack to."""

    def __init__(self, archive: Path, limits: Limits) -> None:
        self._archive = archive.name
        self._limits = limits
        self._packed = max(1, archive.stat().st_size)
        self._size = 0
        self._entries = 0

    def spend(self, size: int) -> None:
        self._size += size
        if self._size > self._limits.size:
            raise bomb(self._archive, f"more than {self._limits.size >> 20} MiB")
        if self._size > self._limits.small and self._size > self._packed * self._limits.ratio:
            raise bomb(self._archive, f"more than {self._limits.ratio} times its packed size")

    def entry(self) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise bomb(self._archive, f"more than {self._limits.entries} entries")


class Unpacker:
    """Puts the members of one archive under `root`; never through a link, whoever made it."""

    def __init__(self, root: Path, archive: Path, *, strip: int, limits: Limits) -> None:
        self.root = root.resolve()
        self._archive = archive.name
        self._strip = strip
        self._budget = Budget(archive, limits)
        self._directories: set[tuple[str, ...]] = {()}
        self._links: list[tuple[Path, str]] = []

    def directory(self, name: str) -> None:
        if parts := self._parts(name):
            self._make(parts, name)

    def file(self, name: str, read: Read, *, executable: bool, mtime: float) -> None:
        if (path := self._place(name)) is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, 0o755 if executable else 0o644), "wb") as target:
            while chunk := read(_CHUNK):
                self._budget.spend(len(chunk))
                target.write(chunk)
        # make compares times: a generated file must stay newer than what it was made from.
        os.utime(path, (mtime, mtime))

    def symlink(self, name: str, target: str) -> None:
        if (path := self._place(name)) is None:
            return
        reached = os.path.normpath(path.parent.relative_to(self.root) / target)
        if PurePosixPath(target).is_absolute() or reached.split("/")[0] == "..":
            raise self._unsafe(name, f"a link to {target}, outside of the target directory")
        path.symlink_to(target)
        self._links.append((path, name))

    def hardlink(self, name: str, target: str) -> None:
        source = self.root.joinpath(*self._parts(target, of=name))
        self._walk(source.parent.relative_to(self.root).parts, name)
        if not _is_regular(source):
            raise self._unsafe(name, f"a hard link to {target}, which is no file of this archive")
        # Some programs write a file's second name as a link to its first even where both are the same.
        if self._parts(name) != self._parts(target, of=name) and (path := self._place(name)) is not None:
            os.link(source, path)

    def special(self, name: str, what: str) -> None:
        raise self._unsafe(name, what)

    def finish(self) -> None:
        """A link can be innocent by its text and still lead out through another one: look where they lead."""
        for path, name in self._links:
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(self.root):
                path.unlink()
                raise self._unsafe(name, "a link that leads outside of the target directory")

    def _place(self, name: str) -> Path | None:
        """The free path for a member, or None if stripping leaves nothing of its name."""
        self._budget.entry()
        parts = self._parts(name)
        if not parts:
            return None
        self._make(parts[:-1], name)
        path = self.root.joinpath(*parts)
        if parts in self._directories or (path.is_dir() and not path.is_symlink()):
            raise self._unsafe(name, "a file in the place of a directory")
        path.unlink(missing_ok=True)
        return path

    def _parts(self, path: str, *, of: str | None = None) -> tuple[str, ...]:
        """The parts of a member's name, or of the file that the member `of` links to."""
        parts = tuple(part for part in path.split("/") if part not in ("", "."))
        if path.startswith("/"):
            raise self._unsafe(of or path, f"an absolute path, {path}")
        if ".." in parts:
            raise self._unsafe(of or path, f"a path with '..', {path}")
        if len(parts) > _DEEPEST or any(len(part.encode(errors="replace")) > _LONGEST_NAME for part in parts):
            raise self._unsafe(of or path, "a path that no honest archive has: too deep, or too long a name")
        return parts[self._strip :]

    def _make(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts) + 1):
            if parts[:depth] in self._directories:
                continue
            path = self.root.joinpath(*parts[:depth])
            if not os.path.lexists(path):
                self._budget.entry()
                path.mkdir()
            self._walk(parts[:depth], name)
            self._directories.add(parts[:depth])

    def _walk(self, parts: tuple[str, ...], name: str) -> None:
        """Every part must be a real directory, not a link to one."""
        path = self.root
        for part in parts:
            path = path / part
            if not stat.S_ISDIR(path.lstat().st_mode):
                shown = path.relative_to(self.root)
                raise self._unsafe(name, f"a path through {shown}, which is no directory")

    def _unsafe(self, name: str, what: str) -> StepFailed:
        return unsafe(self._archive, name, what)


def unsafe(archive: str, member: str, what: str) -> StepFailed:
    shown = member if len(member) <= _SHOWN else f"{member[:_SHOWN]}…"
    return StepFailed(
        "unsafe_archive", f"{archive}: refused to unpack {shown!r}: {what}", archive=archive, member=member
    )


def bomb(archive: str, what: str) -> StepFailed:
    message = f"{archive}: refused to unpack {what}: it looks like an archive bomb"
    return StepFailed("unsafe_archive", message, archive=archive, member=None)


def _is_regular(path: Path) -> bool:
    return os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode)
