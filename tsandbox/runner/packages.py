"""Which packages the system holds, read from whatever records it keeps."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

# Written into closure images, which have no package manager: name, version, architecture, and what it provides.
MANIFEST = Path("usr/share/tsandbox/packages.tsv")

# How a package may be written in a recipe: `name`, `name=version` (apt, apk), `name:arch` (apt).
_NAME = re.compile(r"^[^=<>~:\s]+")


def plain_name(package: str) -> str:
    match = _NAME.match(package)
    return match.group() if match else package


def recorded(root: Path, manager: str) -> set[str] | None:
    """The names of all packages, and of what they provide; None where no record can be read."""
    readers = (_manifest, _READERS[manager]) if manager in _READERS else (_manifest,)
    for reader in readers:
        names = set(reader(root))
        if names:
            return names
    return None


def _manifest(root: Path) -> Iterator[str]:
    for line in _lines(root / MANIFEST):
        fields = line.split("\t")
        yield fields[0]
        if len(fields) > 3:
            yield from _provided(fields[3])


def _dpkg(root: Path) -> Iterator[str]:
    name, installed = "", False
    for line in (*_lines(root / "var/lib/dpkg/status"), ""):
        key, _, value = line.partition(": ")
        if key == "Package":
            name = value
        elif key == "Status":
            installed = value.endswith(" installed")
            if installed:
                yield name
        elif key == "Provides" and installed:
            yield from _provided(value)
        elif not line:
            installed = False


def _apk(root: Path) -> Iterator[str]:
    for line in _lines(root / "lib/apk/db/installed"):
        if line.startswith("P:"):
            yield line[2:]
        elif line.startswith("p:"):
            yield from (word.partition("=")[0] for word in line[2:].split())


def _pacman(root: Path) -> Iterator[str]:
    for description in (root / "var/lib/pacman/local").glob("*/desc"):
        section = ""
        for line in _lines(description):
            if line.startswith("%"):
                section = line.strip("%")
            elif line and section in ("NAME", "PROVIDES"):
                yield plain_name(line)


def _provided(text: str) -> Iterator[str]:
    for word in text.split(","):
        if name := plain_name(word.strip()):
            yield name


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


# rpm keeps a binary database, so for dnf and zypper the rpm program is asked instead.
_READERS: dict[str, Callable[[Path], Iterator[str]]] = {"apt": _dpkg, "apk": _apk, "pacman": _pacman}
