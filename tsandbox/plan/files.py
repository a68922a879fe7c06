"""Reading input files: what they are called, what they hold, and why they cannot be read."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from tsandbox.errors import InvalidInput, Problem

Kind = Literal["recipe", "plan"]

_LARGEST: dict[str, int] = {"recipe": 1 << 20, "plan": 16 << 20}
_KINDS: dict[str, Kind] = {".toml": "recipe", ".json": "plan"}


class Source(NamedTuple):
    """One input as the user named it; `version` is what follows `@` in its name."""

    name: str
    path: Path | None
    version: str | None = None


class Text(NamedTuple):
    kind: Kind
    text: str
    file: str


def find_sources(names: Iterable[str], endings: Iterable[str] = tuple(_KINDS)) -> Iterator[Source]:
    """The inputs that the arguments name: files, everything below directories, `-` for standard input."""
    for name in names:
        path = Path(name)
        if name == "-":
            yield Source("-", None)
        elif is_dir(path):
            yield from _sources_below(path, tuple(endings))
        elif "@" in path.name and not exists(path):
            stem, _, version = name.rpartition("@")
            yield Source(shown(stem), Path(stem), version)
        else:
            yield Source(shown(name), path)


def _sources_below(directory: Path, endings: tuple[str, ...]) -> Iterator[Source]:
    empty = True
    for file in files_below(directory, endings):
        empty = False
        yield Source(shown(str(file)), file)
    if empty:
        # An empty directory is more often a wrong path than a wish to check nothing.
        wanted = " and no ".join(f"*{ending}" for ending in endings)
        raise _unreadable(shown(str(directory)), f"the directory holds no {wanted}")


def files_below(directory: Path, endings: Iterable[str] = tuple(_KINDS)) -> Iterator[Path]:
    """Recipes and plans below a directory, in a stable order, hidden directories left alone."""
    wanted = tuple(endings)
    for root, directories, names in os.walk(directory, onerror=_refuse_unreadable):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(wanted) and not name.startswith("."):
                yield Path(root, name)


def is_dir(path: Path) -> bool:
    """Whether it is a directory; a path that cannot even be looked at is told when it is read."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Whether there is something; what cannot be looked at counts, so that reading it tells why."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return True


def shown(name: str) -> str:
    """A file's name as text: names are bytes, and what is not UTF-8 among them cannot be written into JSON."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _refuse_unreadable(error: OSError) -> None:
    raise _unreadable(shown(str(error.filename)), f"cannot be read: {error.strerror}")


def read_text(source: Source) -> Text:
    """The text of an input and whether it is a recipe or a plan, told by its ending or else by how it begins."""
    if source.path is None:
        data = sys.stdin.buffer.read(max(_LARGEST.values()) + 1)
        return _decode(data, _kind_of(data), source.name)
    kind = _KINDS.get(source.path.suffix)
    largest = _LARGEST[kind or "plan"]
    try:
        if source.path.is_dir():
            raise _unreadable(source.name, "is a directory; a recipe or plan file was expected")
        with source.path.open("rb") as file:
            # Never all of it unseen: a device or a pipe has no size that could be looked at first.
            data = file.read(largest + 1)
    except OSError as error:
        raise _unreadable(source.name, f"cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise _unreadable(source.name, "is not a file name") from None
    return _decode(data, kind or _kind_of(data), source.name)


def _kind_of(data: bytes) -> Kind:
    return "plan" if data.lstrip()[:1] == b"{" else "recipe"


def _decode(data: bytes, kind: Kind, file: str) -> Text:
    if len(data) > _LARGEST[kind]:
        raise _unreadable(file, f"is too large: a {kind} has at most {_LARGEST[kind]:,} bytes")
    if data.startswith(b"\xef\xbb\xbf"):
        raise _unreadable(file, "starts with a byte order mark; save it as UTF-8 without one")
    if not data.strip():
        raise _unreadable(file, "is empty")
    try:
        return Text(kind, data.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unreadable(file, f"is not UTF-8 (byte 0x{data[error.start]:02x})", line) from None


def _unreadable(file: str, why: str, line: int | None = None) -> InvalidInput:
    problem = Problem(file, line, "", why)
    return InvalidInput(str(problem), problems=[problem])
