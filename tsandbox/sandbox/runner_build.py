"""The runner as a program that needs nothing of an image but glibc: built once per version, kept, and checked."""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tsandbox import settings
from tsandbox.engine import process
from tsandbox.errors import BuildFailed, NotSupported
from tsandbox.runner import zstd

MOUNT = "/usr/local/lib/tsandbox"
PROGRAM = "tsandbox"
ARCHIVE = "runner.pyz"
Libc = Literal["glibc", "musl"]

_SOURCES = Path(__file__).parent.parent / "runner"
# Everything the runner can do without; together they are more than half of the size.
_EXCLUDED = (
    "_asyncio", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw",
    "_decimal", "_hashlib", "_multibytecodec", "_multiprocessing", "_pydecimal", "_pyio", "_socket", "_ssl",
    "_statistics", "_uuid", "asyncio", "concurrent", "csv", "decimal", "distutils", "doctest", "email",
    "fractions", "ftplib", "getpass", "http", "logging", "multiprocessing", "netrc", "numbers", "pdb", "pickle",
    "pkg_resources", "pydoc", "pyexpat", "queue", "random", "readline", "setuptools", "smtplib", "socket", "ssl",
    "statistics", "tempfile", "tkinter", "unicodedata", "unittest", "urllib.request", "uuid", "xml",
)  # fmt: skip
# The build sees no clock and no random order, so the same sources give the same bytes.
_FIXED_ENV = {"SOURCE_DATE_EPOCH": "315532800", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_EPOCH = 315532800
_TIMEOUT = 300.0
_NOT_FOUND = 127


class Runner(Struct, frozen=True, kw_only=True):
    """A directory to mount at MOUNT, and how to start what is in it."""

    directory: Path
    argv: tuple[str, ...]
    digest: str
    size: int
    # The oldest glibc that it runs on; None where it uses the image's own Python.
    glibc: str | None


class Manifest(Struct, frozen=True, kw_only=True):
    digest: str
    glibc: str | None
    files: dict[str, str]
    # Every file's size. All files have one fixed time, which any change to one of them moves.
    sizes: dict[str, int]
    size: int


def runner(libc: Libc = "glibc", say: Callable[[str], None] = lambda _: None) -> Runner:
    """The runner for images with this libc, built now if it is not there or not what it was when it was built."""
    wanted = digest(libc)
    home = settings.cache_dir() / "runner"
    directory = home / wanted.removeprefix("sha256:")[:32]
    manifest = _checked(directory, wanted)
    if manifest is None:
        say("building the runner, once for this version of tsandbox")
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home / f"{directory.name}.lock"):
            # Another process may have built it while this one waited.
            manifest = _checked(directory, wanted) or _build(directory, wanted, libc)
    argv = (f"{MOUNT}/{PROGRAM}",) if libc == "glibc" else ("python3", "-I", f"{MOUNT}/{ARCHIVE}")
    return Runner(directory=directory / "runner", argv=argv, digest=wanted, size=manifest.size, glibc=manifest.glibc)


def digest(libc: Libc = "glibc") -> str:
    """Identifies the runner by all that goes into it, without building it."""
    parts = [libc, *_EXCLUDED, *_FIXED_ENV.values()]
    if libc == "glibc":
        parts += [sys.version, platform.machine(), "-".join(platform.libc_ver()), _pyinstaller()]
        parts += [f"{library.resolve().name} {library.stat().st_size}" for library in _libraries()]
    hashed = hashlib.sha256("\0".join(parts).encode())
    for path in _sources():
        hashed.update(f"\0{path.relative_to(_SOURCES)}\0".encode())
        hashed.update(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{hashed.hexdigest()}"


def start_failure(used: Runner, exit_code: int | None, output: str) -> NotSupported | None:
    """Why the runner could not even start in an image, where its last words tell; None if they do not."""
    if match := re.search(r"version `GLIBC_([\d.]+)' not found", output):
        return NotSupported(
            f"the image's glibc is older than {match.group(1)}, which the runner built on this host needs",
            hint="use a newer base (--family, --profile), or run tsandbox on a host as old as the image",
        )
    missing = exit_code == 127 or "no such file" in output.lower() or "not found" in output.lower()
    if missing and used.glibc is None:
        return NotSupported(
            "the image is built on musl and has no python3, which the runner needs there",
            hint='declare it: packages = { apk = ["python3"] }, or choose a family with glibc',
        )
    if missing:
        return NotSupported(
            "the image has no glibc (its loader is not there), which the runner needs",
            hint="choose a family with glibc (debian, rhel, arch, suse)",
        )
    return None


def _pyinstaller() -> str:
    """Its version, read without importing it or the slow machinery of package metadata."""
    found = find_spec("PyInstaller")
    if found is None or found.origin is None:
        raise BuildFailed(
            "the runner is built with PyInstaller, which is not installed", hint="pip install pyinstaller"
        )
    match = re.search(r"^__version__ *= *['\"]([^'\"]+)", Path(found.origin).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else "unknown"


def _libraries() -> list[Path]:
    """What the runner loads by name, where this host has it: distributions pack their own packages with it."""
    places = (Path("/usr/lib", f"{platform.machine()}-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib"))
    return [place / zstd.LIBRARY for place in places if (place / zstd.LIBRARY).is_file()][:1]


def _sources() -> list[Path]:
    return sorted(path for path in _SOURCES.rglob("*.py") if "__pycache__" not in path.parts)


def _checked(directory: Path, wanted: str) -> Manifest | None:
    """The manifest, if every file is still what it says."""
    try:
        manifest = msgspec.json.decode((directory / "manifest.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return manifest if manifest.digest == wanted and _sizes(directory / "runner") == manifest.sizes else None


def _sizes(directory: Path) -> dict[str, int]:
    """The size of every file; -1 for one that was written to after it was built."""
    found = {}
    for root, _, names in os.walk(directory):
        for name in names:
            path = Path(root, name)
            facts = path.stat()
            found[str(path.relative_to(directory))] = facts.st_size if facts.st_mtime == _EPOCH else -1
    return found


def _hashes(directory: Path) -> dict[str, str]:
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _build(directory: Path, wanted: str, libc: Libc) -> Manifest:
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".building-") as name:
        fresh = Path(name) / "done"
        fresh.mkdir()
        if libc == "glibc":
            _freeze(Path(name), fresh / "runner")
        else:
            _zip(fresh / "runner")
        manifest = _normalised(fresh / "runner", wanted, libc)
        (fresh / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        if directory.exists():
            # Stale or damaged. It is moved first, so that the name never leads to something half deleted.
            directory.rename(Path(name) / "old")
        fresh.rename(directory)
    return manifest


def _freeze(work: Path, target: Path) -> None:
    """PyInstaller, on a copy of the sources under a package of their own: the rest of tsandbox is not followed."""
    package = work / "source" / "tsandbox"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copytree(_SOURCES, package / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    argv: list[str | Path] = [
        sys.executable, "-m", "PyInstaller", "--onedir", "--strip", "--noconfirm", "--log-level", "WARN",
        "--name", PROGRAM, "--contents-directory", "lib", "--python-option", "X utf8",
        "--distpath", work / "dist", "--workpath", work / "work", "--specpath", work,
        "--paths", work / "source",
        *(word for name in _EXCLUDED for word in ("--exclude-module", name)),
        *(word for library in _libraries() for word in ("--add-binary", f"{library}:.")),
        package / "runner" / "__main__.py",
    ]  # fmt: skip
    env = {**_FIXED_ENV, "PYINSTALLER_CONFIG_DIR": str(work / "config"), "PYTHONPATH": None}
    try:
        process.run(argv, env=env, cwd=work, timeout=_TIMEOUT)
        # What was left out must not be missed: this imports every module of the runner.
        process.run([work / "dist" / PROGRAM / PROGRAM, "run", "--help"], cwd=work, timeout=60)
    except process.CommandFailed as error:
        raise BuildFailed(
            "the runner could not be built",
            hint="PyInstaller needs a Python with a shared libpython and the program strip (binutils)",
            details=error.details,
        ) from error
    (work / "dist" / PROGRAM).rename(target)


def _zip(target: Path) -> None:
    """The sources as one file that the image's own Python runs."""
    import zipfile

    target.mkdir()
    with zipfile.ZipFile(target / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        content = {f"tsandbox/runner/{path.relative_to(_SOURCES)}": path.read_bytes() for path in _sources()}
        content |= {"tsandbox/__init__.py": b"", "__main__.py": (_SOURCES / "__main__.py").read_bytes()}
        for name in sorted(content):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content[name])


def _normalised(directory: Path, wanted: str, libc: Libc) -> Manifest:
    """The manifest of a fresh runner, whose times and modes are made the same for every build."""
    for path in (*sorted(directory.rglob("*"), reverse=True), directory):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (_EPOCH, _EPOCH))
    files = [path for path in directory.rglob("*") if path.is_file()]
    return Manifest(
        digest=wanted,
        glibc=_needed_glibc(files) if libc == "glibc" else None,
        files=_hashes(directory),
        sizes=_sizes(directory),
        size=sum(path.stat().st_size for path in files),
    )


def _needed_glibc(files: list[Path]) -> str:
    """The newest glibc that any of the files asks for by a symbol's version."""
    found = (match for path in files for match in re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes()))
    major, minor = max((int(major), int(minor)) for major, minor in found)
    return f"{major}.{minor}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
