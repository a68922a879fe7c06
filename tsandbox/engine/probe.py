"""Does this engine run a container here, which limits hold, and what did the host need? Asked once, then remembered."""

import fcntl
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from tsandbox import settings
from tsandbox.engine import owner
from tsandbox.engine.protocol import ContainerRequest, Engine, EngineFacts
from tsandbox.errors import EngineUnavailable, UsageError

PROBE_LABEL = "io.tsandbox.probe"
_IMAGE, _NAME = "localhost/tsandbox-probe:", "tsandbox-probe-"
# Small, odd numbers: what is read back can only come from us.
_MEMORY, _CPUS, _PIDS = 67 << 20, 0.5, 57


def engine_dir() -> Path:
    return settings.state_dir() / "engine"


def remembered(name: str, host: object, probe: Callable[[], EngineFacts], *, fresh: bool = False) -> EngineFacts:
    """The facts of an earlier probe on the same engine and host, else (or if `fresh`) those of a new one."""
    key = hashlib.sha256(msgspec.json.encode([3, host], order="deterministic")).hexdigest()
    path = engine_dir() / f"{name}-{key[:16]}.json"
    if not fresh and (facts := _read(path)) is not None:
        return facts
    with _locked(path.with_suffix(".lock")):
        if fresh or (facts := _read(path)) is None:
            facts = probe()
            write(path, msgspec.json.encode(facts))
    return facts


def run_one(engine: Engine) -> tuple[str, ...]:
    """Run the tiny program with every limit; raises what the engine says, else names the limits that do not hold."""
    with _container(engine, memory=_MEMORY, cpus=_CPUS, pids=_PIDS) as container:
        engine.start(container)
        found = engine.enforced_limits(container)
    wanted = {"memory": (_MEMORY, found.memory), "cpus": (_CPUS, found.cpus), "pids": (_PIDS, found.pids)}
    return tuple(name for name, (asked, got) in wanted.items() if got is None or got > asked)


def run_with_network(engine: Engine) -> None:
    """Run the tiny program in a network of its own; raises what the engine says."""
    with _container(engine, network="egress") as container:
        engine.start(container)


@contextmanager
def _container(engine: Engine, **fields: Any) -> Iterator[str]:
    """A container of the tiny program. A note says whose it is, so that a later probe cleans up after a killed one."""
    notes = engine_dir() / "probes" / engine.name
    notes.mkdir(parents=True, exist_ok=True)
    _sweep(engine, notes)
    note = notes / f"{owner.mine()}-{secrets.token_hex(8)}"
    note.touch()
    try:
        yield _created(engine, note.name, fields)
    finally:
        _remove(engine, note)


def _created(engine: Engine, name: str, fields: Mapping[str, Any]) -> str:
    from tsandbox.engine import tiny

    labels = {PROBE_LABEL: name}
    with tempfile.NamedTemporaryFile(suffix=".tar") as tar:
        tar.write(tiny.rootfs(os.uname().machine, name))
        tar.flush()
        engine.import_rootfs(Path(tar.name), _IMAGE + name, labels=labels, platform=native_platform())
    request = ContainerRequest(image=_IMAGE + name, argv=["/probe"], name=_NAME + name, labels=labels, **fields)
    return engine.create(request)


def _remove(engine: Engine, note: Path) -> None:
    with suppress(EngineUnavailable):
        engine.kill(_NAME + note.name)
    engine.remove(_NAME + note.name)
    engine.remove_image(_IMAGE + note.name)
    note.unlink(missing_ok=True)


def _sweep(engine: Engine, notes: Path) -> None:
    for note in notes.iterdir():
        if not owner.lives(note.name.rpartition("-")[0]):
            _remove(engine, note)


def native_platform() -> str:
    machine = os.uname().machine
    return "linux/" + {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def program_facts(path: str) -> list[object]:
    """What changes when a program is replaced or upgraded, without running it."""
    with suppress(OSError):
        stat = Path(path).stat()
        return [path, stat.st_mtime_ns, stat.st_size]
    return [path]


def _read(path: Path) -> EngineFacts | None:
    with suppress(OSError, msgspec.MsgspecError):
        facts = msgspec.json.decode(path.read_bytes(), type=EngineFacts)
        files = [value for value in facts.adjustments.values() if value.startswith("/")]
        if all(Path(file).exists() for file in files):
            return facts
    return None


def write(path: Path, data: bytes) -> None:
    """At once or not at all: another process may read it now."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = path.open("w")
    except OSError as error:
        raise UsageError(
            f"{path.parent}: cannot be written: {error.strerror}",
            hint="set TSANDBOX_STATE_DIR to a directory of your own",
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
