"""An image and containers for the tests of the engine room, made from programs of this very host: no base is needed."""

import io
import re
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tsandbox.engine import ContainerRequest, Engine, Image
from tsandbox.engine.probe import native_platform

from .users import User, unprivileged

LABEL = "io.tsandbox.test"
PROGRAMS = ("sh", "cat", "sleep", "id", "touch", "env", "ls", "readlink", "mkdir", "ps")


@pytest.fixture(scope="session")
def user() -> Iterator[User]:
    with unprivileged() as made:
        yield made


Create = Callable[..., str]


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system of a dozen programs with the libraries that they load."""
    tree = tmp_path_factory.mktemp("rootfs") / "rootfs.tar"
    programs = {name: Path(shutil.which(name) or name).resolve() for name in PROGRAMS}
    files = {f"bin/{name}": path for name, path in programs.items()}
    for path in programs.values():
        files |= {library.lstrip("/"): Path(library).resolve() for library in _libraries(path)}
    with tarfile.open(tree, "w") as tar:
        for directory in ("tmp", "data", "etc", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755
            tar.addfile(entry)
        for name, path in sorted(files.items()):
            _add(tar, name, path.read_bytes(), 0o755)
        _add(tar, "etc/passwd", b"root:x:0:0::/:/bin/sh\nother:x:1234:1234::/:/bin/sh\n", 0o644)
    return tree


def _libraries(program: Path) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


@pytest.fixture(scope="session")
def image(engine: Engine, rootfs: Path) -> Iterator[Image]:
    reference = f"localhost/tsandbox-test:{secrets.token_hex(8)}"
    yield engine.import_rootfs(rootfs, reference, labels={LABEL: reference}, platform=native_platform())
    engine.remove_image(reference)


@pytest.fixture
def create(engine: Engine, image: Image) -> Iterator[Create]:
    """Create containers with the fields of a request; they are gone after the test."""
    made: list[str] = []

    def new(*argv: str, **fields: object) -> str:
        name = f"tsandbox-test-{secrets.token_hex(8)}"
        words = {"image": image.id, "labels": {LABEL: name}, "name": name, **fields}
        made.append(engine.create(ContainerRequest(argv=argv, **words)))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for container in made:
        engine.remove(container)


@pytest.fixture
def run(engine: Engine, create: Create) -> Callable[..., str]:
    """What a shell script prints in a container of the given request."""

    def text(script: str, **fields: object) -> str:
        container = create("/bin/sh", "-c", script, **{"env": {"PATH": "/bin"}, **fields})
        output = b"".join(chunk for _, chunk in engine.attach(container, timeout=120)).decode()
        assert engine.wait(container, timeout=60) == 0, output
        return output

    return text


def command_lines(*, containing: str) -> list[str]:
    """Command lines of this host's processes that hold a text, as `ps` would show them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if containing in line:
                found.append(line)
    return found


def pids_of(argv: list[str] | None = None, *, containing: str = "\0") -> list[int]:
    """Processes with exactly these arguments, or with a text among them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            text = path.read_bytes().decode(errors="replace")
            if text.split("\0")[:-1] == argv or (argv is None and containing in text):
                found.append(int(path.parent.name))
    return found
