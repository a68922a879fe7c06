"""Zip archives."""

import stat
import time
import zipfile
import zlib
from pathlib import Path

from tsandbox.runner.archive import Unpacker
from tsandbox.runner.failures import StepFailed

_MAX_LINK = 4096
_BROKEN = (zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError, NotImplementedError)


def unpack_zip(archive: Path, unpacker: Unpacker) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                _unpack(opened, member, unpacker)
    except _BROKEN as error:
        raise StepFailed("file_error", f"{archive.name}: broken archive: {error}", path=archive.name) from error
    unpacker.finish()


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, unpacker: Unpacker) -> None:
    # The upper half holds Unix mode bits when a Unix program made the archive, else 0.
    mode = member.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if member.is_dir():
        unpacker.directory(member.filename)
    elif kind == stat.S_IFLNK:
        with archive.open(member) as content:
            unpacker.symlink(member.filename, content.read(_MAX_LINK).decode(errors="surrogateescape"))
    elif kind in (0, stat.S_IFREG):
        with archive.open(member) as content:
            unpacker.file(member.filename, content.read, executable=bool(mode & 0o111), mtime=_mtime(member))
    else:
        unpacker.special(member.filename, "a device, pipe or other special file")


def _mtime(member: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*member.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0
