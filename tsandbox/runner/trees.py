"""Directories that recipes fill, however deep: walked and removed without recursion, which has an end."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

Entry = os.DirEntry[str]
Directory = tuple[str, list[Entry], list[Entry]]


def walk(top: Path, on_error: Callable[[OSError], None] | None = None) -> Iterator[Directory]:
    """Every directory with its subdirectories, which the caller may take out to pass them over, and all else in it."""
    unseen = [str(top)]
    while unseen:
        here = unseen.pop()
        entries = _entries(here, on_error)
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield here, folders, [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        unseen += [entry.path for entry in reversed(folders)]


def clear(directory: Path) -> None:
    """Remove it, as far as our rights go. What is nested is moved up first, so that no path is too long."""
    top = str(directory)
    names = (f"{top}/{os.urandom(8).hex()}-{number}" for number in itertools.count())
    unseen = [top]
    emptied = []
    while unseen:
        here = unseen.pop()
        emptied.append(here)
        _open(here)
        for entry in _entries(here):
            with suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - many
                    continue
                _open(entry.path)  # only who may write to a directory can move it
                moved = next(names)
                os.rename(entry.path, moved)  # noqa: PTH104
                unseen.append(moved)
    for path in reversed(emptied):
        with suppress(OSError):
            os.rmdir(path)  # noqa: PTH106


def _open(directory: str) -> None:
    with suppress(OSError):
        os.chmod(directory, 0o700)  # noqa: PTH101


def _entries(directory: str, on_error: Callable[[OSError], None] | None = None) -> list[Entry]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError as error:
        if on_error:
            on_error(error)
        return []
