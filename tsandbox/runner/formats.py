"""Which format an archive has, and unpacking it by that."""

import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tsandbox.runner import zstd
from tsandbox.runner.archive import Limits, Unpacker
from tsandbox.runner.archive_tar import BROKEN, Source, decompressed, unpack_tar
from tsandbox.runner.archive_zip import unpack_zip
from tsandbox.runner.failures import StepFailed

# Longest endings first. The value is what is inside ("tar", "zip" or "" for a single file) and the compression.
_ENDINGS = {
    "tar.gz": ("tar", "gz"),
    "tgz": ("tar", "gz"),
    "tar.bz2": ("tar", "bz2"),
    "tbz2": ("tar", "bz2"),
    "tbz": ("tar", "bz2"),
    "tar.xz": ("tar", "xz"),
    "txz": ("tar", "xz"),
    "tar.lzma": ("tar", "lzma"),
    "tar.zst": ("tar", "zst"),
    "tzst": ("tar", "zst"),
    "tar": ("tar", ""),
    "zip": ("zip", ""),
    "gz": ("", "gz"),
    "bz2": ("", "bz2"),
    "xz": ("", "xz"),
    "zst": ("", "zst"),
}

FindProgram = Callable[[str], str | None]


def kind_of(archive: str, declared: str | None) -> tuple[str, str]:
    """(content, compression) by the declared format, else by the name."""
    wanted = (declared or "").lower().lstrip(".")
    if wanted and wanted not in _ENDINGS:
        known = ", ".join(sorted(_ENDINGS))
        raise StepFailed("invalid", f"unknown archive format {declared!r}; known are {known}", param="format")
    for ending, kind in _ENDINGS.items():
        if wanted == ending or (not wanted and archive.lower().endswith(f".{ending}")):
            return kind
    raise StepFailed("invalid", f"{archive}: the name does not tell the format; say `format`", param="format")


def extract(
    archive: Path,
    into: Path,
    *,
    declared: str | None = None,
    strip: int = 0,
    limits: Limits | None = None,
    find: FindProgram,
) -> None:
    limits = limits or Limits()
    content, compression = kind_of(archive.name, declared)
    into.mkdir(parents=True, exist_ok=True)
    unpacker = Unpacker(into, archive, strip=strip if content else 0, limits=limits)
    if content == "zip":
        unpack_zip(archive, unpacker)
        return
    with _open(archive, compression, find) as stream:
        if content == "tar":
            unpack_tar(stream, archive, unpacker, limits)
        else:
            _unpack_single(stream, archive, unpacker)


def _unpack_single(stream: Source, archive: Path, unpacker: Unpacker) -> None:
    try:
        mtime = archive.stat().st_mtime
        unpacker.file(archive.name.rpartition(".")[0] or "content", stream.read, executable=False, mtime=mtime)
    except BROKEN as error:
        raise StepFailed("file_error", f"{archive.name}: broken: {error}", path=archive.name) from error


def _open(archive: Path, compression: str, find: FindProgram) -> AbstractContextManager[Source]:
    if compression != "zst":
        return decompressed(archive, compression)
    return _zstd(archive) if zstd.library() else _zstd_program(archive, find)


@contextmanager
def _zstd(archive: Path) -> Iterator[Source]:
    with archive.open("rb") as packed, io.BufferedReader(zstd.Decompressed(packed), 1 << 17) as stream:
        yield stream


@contextmanager
def _zstd_program(archive: Path, find: FindProgram) -> Iterator[Source]:
    """Where the host that built the runner has no such library, a program of the image does it."""
    program = find("zstd")
    if program is None:
        raise StepFailed(
            "missing_command",
            f"{archive.name}: unpacking zst needs the program zstd: declare it (package zstd on all families)",
            command="zstd",
            needed_by=archive.name,
        )
    argv = [program, "--decompress", "--stdout", "--quiet", os.fspath(archive)]
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        yield child.stdout
        # Only a stream that was read to its end can tell whether the archive was whole.
        while child.stdout.read(1 << 16):
            pass
        if code := child.wait():
            message = f"{archive.name}: zstd ended with status {code}: broken archive"
            raise StepFailed("file_error", message, path=archive.name)
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
