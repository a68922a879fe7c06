"""Tar archives, read once from front to end through whatever compression they have."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tsandbox.runner.archive import Budget, Limits, Unpacker
from tsandbox.runner.failures import StepFailed

# tarfile reads extended headers whole; an honest one is small.
_MAX_READ = 4 << 20
BROKEN = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Guarded:
    """A stream that tarfile may read only forwards, in small pieces and within the budget."""

    def __init__(self, source: Source, budget: Budget) -> None:
        self._source = source
        self._budget = budget
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError("a header of the archive is too large")
        data = self._source.read(size)
        self._budget.spend(len(data))
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        while self._position < position:
            if not self.read(min(position - self._position, 1 << 16)):
                break
        if self._position > position:
            raise tarfile.ReadError("the archive cannot be read backwards")
        return self._position


@contextmanager
def decompressed(archive: Path, compression: str) -> Iterator[Source]:
    """The stream inside of `archive`, which is compressed with gz, bz2, xz, lzma or nothing ("")."""
    match compression:
        case "gz":
            with gzip.open(archive) as stream:
                yield stream
        case "bz2":
            with bz2.open(archive) as packed:
                yield packed
        case "xz" | "lzma":
            with lzma.open(archive) as packed:
                yield packed
        case _:
            with archive.open("rb") as raw:
                yield raw


def unpack_tar(source: Source, archive: Path, unpacker: Unpacker, limits: Limits) -> None:
    stream = _Guarded(source, Budget(archive, limits))
    try:
        # tarfile asks for no more of a file object than read, tell and seek.
        with tarfile.open(fileobj=stream, mode="r:", errorlevel=2) as tar:  # type: ignore[call-overload]
            while (member := tar.next()) is not None:
                # tarfile keeps every member that it has seen; a long archive must not grow in memory.
                tar.members = []
                _unpack(tar, member, unpacker)
    except BROKEN as error:
        raise StepFailed("file_error", f"{archive.name}: broken archive: {error}", path=archive.name) from error
    unpacker.finish()


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, unpacker: Unpacker) -> None:
    if member.isdir():
        unpacker.directory(member.name)
    elif member.issym():
        unpacker.symlink(member.name, member.linkname)
    elif member.islnk():
        unpacker.hardlink(member.name, member.linkname)
    elif member.isfile():
        content = tar.extractfile(member)
        assert content is not None
        with content:
            unpacker.file(member.name, content.read, executable=bool(member.mode & 0o111), mtime=max(0, member.mtime))
    else:
        unpacker.special(member.name, "a device, pipe or other special file")
