"""What the installed files need of the system, found by reading them: libraries, loaders and interpreters."""

import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from tsandbox.runner.diagnose import missing_command, missing_library
from tsandbox.runner.elf import Elf, read_elf
from tsandbox.runner.failures import Finding
from tsandbox.runner.trees import walk

_MACHINES = {"x86_64": 62, "aarch64": 183}
_TRIPLETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_MAX_FILES = 50_000
# The kernel's own; no file has this name.
_VIRTUAL = frozenset({"linux-vdso.so.1", "linux-gate.so.1"})


def scan(root: Path, env: Mapping[str, str], *, libraries: tuple[Path, ...] = ()) -> list[Finding]:
    """Everything that files under `root` need and that neither they, `libraries` nor the system have."""
    files = list(_files(root))
    own = {path.name for path in files}
    search = _System(own, (*libraries, *_library_path(env), *system_directories()))
    findings = [finding for path in files for finding in _needs(path, root, search, env)]
    return list({(each.kind, str(each.data)): each for each in findings}.values())


def behind(finding: Finding, env: Mapping[str, str]) -> list[Finding]:
    """A shell also says "not found" of a program that is there, and whose interpreter or loader is not."""
    command = str(finding.data.get("command", "")) if finding.kind == "missing_command" else ""
    path = _which(command, env) if command else None
    if path is None:
        return [finding]
    system = _System(set(), (*_library_path(env), *system_directories()))
    return list(_file_needs(path, str(path), system, env)) or [finding]


def not_installed(finding: Finding, work: Path) -> Finding | None:
    """A command that nobody has to declare: the recipe brought it, and no step has installed it."""
    command = finding.data.get("command") if finding.kind == "missing_command" else None
    found = [path for path in _files(work) if path.name == command] if command else []
    if not found:
        return None
    path = str(min(found, key=lambda each: (len(each.parts), each)).relative_to(work))
    message = f"{command} lies in the work directory, and no step has installed it"
    return Finding("not_installed", message, {"command": command, "path": path})


class _System:
    def __init__(self, own: set[str], directories: tuple[Path, ...]) -> None:
        self._own = own
        self._directories = directories
        self._known: dict[str, bool] = {}

    def has(self, library: str, elf: Elf, origin: Path) -> bool:
        # A library beside the program counts wherever it lies: programs load such ones by ways we cannot see.
        if library in self._own or library in _VIRTUAL:
            return True
        if any((path / library).exists() for path in _run_path(elf, origin)):
            return True
        if library not in self._known:
            self._known[library] = any((path / library).exists() for path in self._directories)
        return self._known[library]


def _files(root: Path) -> Iterator[Path]:
    seen = 0
    for _, _, entries in walk(root):
        for entry in entries:
            seen += 1
            if seen > _MAX_FILES:
                return
            if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield Path(entry.path)


def _needs(path: Path, root: Path, system: _System, env: Mapping[str, str]) -> Iterator[Finding]:
    if path.is_symlink():
        return
    yield from _file_needs(path, str(path.relative_to(root)), system, env)


def _file_needs(path: Path, shown: str, system: _System, env: Mapping[str, str]) -> Iterator[Finding]:
    if elf := read_elf(path):
        yield from _elf_needs(elf, path, shown, system)
    elif path.parent.name in ("bin", "sbin") and os.access(path, os.X_OK):
        yield from _script_needs(path, shown, env)


def _elf_needs(elf: Elf, path: Path, shown: str, system: _System) -> Iterator[Finding]:
    if elf.machine != _MACHINES.get(platform.machine(), elf.machine):
        return
    if elf.interpreter and not Path(elf.interpreter).exists():
        yield missing_library(Path(elf.interpreter).name, needed_by=shown)
    for library in elf.needed:
        if not system.has(library, elf, path.parent):
            yield missing_library(library, needed_by=shown)


def _script_needs(path: Path, shown: str, env: Mapping[str, str]) -> Iterator[Finding]:
    if command := interpreter(path):
        found = Path(command).exists() if command.startswith("/") else _which(command, env) is not None
        if not found:
            yield missing_command(Path(command).name, needed_by=shown)


def interpreter(script: Path) -> str | None:
    """The program that a script's first line names: a path, or a name where `env` looks for it."""
    try:
        with script.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return None
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def _which(command: str, env: Mapping[str, str]) -> Path | None:
    places = (Path(part, command) for part in env.get("PATH", "").split(":") if part)
    return next((path for path in places if os.access(path, os.X_OK)), None)


def _run_path(elf: Elf, origin: Path) -> Iterator[Path]:
    for part in elf.run_path:
        yield Path(part.replace("${ORIGIN}", str(origin)).replace("$ORIGIN", str(origin)))


def _library_path(env: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(Path(part) for part in env.get("LD_LIBRARY_PATH", "").split(":") if part)


def system_directories(root: Path = Path("/")) -> tuple[Path, ...]:
    """Where this system's loader looks: its configuration, then the places that are built into it."""
    triplet = _TRIPLETS.get(platform.machine(), "")
    built_in = ("lib", "usr/lib", "lib64", "usr/lib64", f"lib/{triplet}", f"usr/lib/{triplet}")
    return (*_configured(root / "etc/ld.so.conf", root), *(root / part for part in built_in))


def _configured(file: Path, root: Path, depth: int = 0) -> Iterator[Path]:
    # An include of an include of an include is a loop.
    if depth > 3 or not file.is_file():
        return
    for line in file.read_text(errors="replace").splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "include":
            for pattern in words[1:]:
                base = root if pattern.startswith("/") else file.parent
                for included in sorted(base.glob(pattern.lstrip("/"))):
                    yield from _configured(included, root, depth + 1)
        else:
            yield root / words[0].lstrip("/")
