"""The container of a run: what it gets, what it may do, and a guard that ends it when it must end."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from msgspec.structs import replace

from tsandbox.engine.protocol import ContainerEnd, ContainerRequest, Engine, Mount, Stream
from tsandbox.errors import TsandboxError
from tsandbox.runner import trees
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.options import Network
from tsandbox.sandbox.outcome import Limits
from tsandbox.sandbox.place import PLAN, Place
from tsandbox.sandbox.runner_build import MOUNT, Runner

INPUTS = "/tsandbox/in"
OUT = "/tsandbox/out"
# What the runner writes beside the installation, in its output directory.
RECORDS = ("events.jsonl", "evidence.json")
LABEL = "io.tsandbox.run"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_EVERY = 0.1
# An engine that needs longer than this to start a container hangs.
_START = 120.0
_MEASURE_EVERY = 0.5
# So much of the host's disk is left to the host, whatever the limit says.
_RESERVE = 256 << 20
_MIB = 1 << 20

_COPIED_RUNNER = "/tsandbox/runner"

Reason = Literal["timeout", "interrupted", "disk"]
Life = Generator[tuple[Stream, bytes], None, ContainerEnd]


class Setup:
    """All that a container of this run needs, for the runner as well as for a shell beside it."""

    def __init__(
        self,
        *,
        image: str,
        place: Place,
        runner: Runner,
        limits: Limits,
        network: Network,
        env: Mapping[str, str],
        user: str | None,
        tool: str,
    ) -> None:
        self.image, self.place, self.runner = image, place, runner
        self.limits, self.network, self.env, self.user, self.tool = limits, network, env, user, tool

    def request(self, argv: tuple[str, ...], **more: Any) -> ContainerRequest:
        memory = self.limits.memory
        temporary = f"size={min(memory, 2 << 30) // 2 // _MIB}m" if memory else "size=512m"
        return ContainerRequest(
            image=self.image,
            argv=argv,
            name=self.place.container,
            labels={LABEL: self.place.container, "io.tsandbox.tool": self.tool},
            env={"PATH": PATH, "LANG": "C.UTF-8", "TZ": "UTC", **self.env},
            mounts=(
                Mount(source=self.runner.directory, target=MOUNT),
                Mount(source=self.place.inputs, target=INPUTS),
                Mount(source=self.place.out, target=OUT, read_only=False),
            ),
            # The root is read-only: what an installation writes goes to its own directory, or shows that it does not.
            read_only_root=True,
            tmpfs={
                "/tmp": f"rw,exec,nosuid,nodev,mode=1777,{temporary}",  # noqa: S108 - in the container
                "/var/tmp": f"rw,exec,nosuid,nodev,mode=1777,{temporary}",  # noqa: S108
                "/run": "rw,nosuid,nodev,mode=755,size=16m",
            },
            workdir=OUT,
            user=self.user,
            network=self.network,
            memory=memory,
            cpus=_cpus(self.limits.cpus),
            pids=self.limits.pids,
            **more,
        )

    def run_request(self, *, online: bool, allow_run_command: bool, stop_before: int | None) -> ContainerRequest:
        argv = [*self.runner.argv, "run", "--plan", f"{INPUTS}/{PLAN}", "--inputs", INPUTS, "--out", OUT]
        if online:
            argv.append("--online")
        if allow_run_command:
            argv.append("--allow-run-command")
        if stop_before is not None:
            argv.append(f"--stop-before={stop_before}")
        if self.limits.disk:
            argv.append(f"--disk={self.limits.disk}")
        if self.limits.timeout:
            # Later than our own clock: it counts only if this process is killed.
            argv.append(f"--seconds={int(self.limits.timeout) + 5}")
        return self.request(tuple(argv))


def run(engine: Engine, request: ContainerRequest, setup: Setup, journal: Journal) -> "Ended":
    """Create, start, listen to the end, remove. The guard's reason says whether the end was the container's own."""
    stop = threading.Event()
    end: ContainerEnd | None = None
    try:
        with _signals(stop), closing(_life(engine, request, setup)) as life, Guard(engine, setup, stop) as guard:
            end = _listen(life, journal, guard)
    finally:
        journal.end()
        if end is None:
            engine.remove(request.name)
    return Ended(reason=guard.reason, exit_code=end.exit_code, oom_killed=end.oom_killed)


def _life(engine: Engine, request: ContainerRequest, setup: Setup) -> Life:
    return _life_elsewhere(engine, request, setup) if engine.facts().remote else engine.run(request)


def _life_elsewhere(engine: Engine, request: ContainerRequest, setup: Setup) -> Life:
    """On an engine that does not see our files: they are copied in, and the root cannot be read-only for that."""
    program = tuple(word.replace(MOUNT, _COPIED_RUNNER) for word in request.argv)
    container = engine.create(replace(request, argv=program, mounts=(), read_only_root=False, workdir="/"))
    try:
        engine.copy_in(container, setup.place.directory, str(Path(OUT).parent))
        engine.copy_in(container, setup.runner.directory, str(Path(OUT).parent))
        yield from engine.attach(container, timeout=None)
        state = engine.state(container)
        engine.copy_out(container, OUT, setup.place.directory)
    finally:
        engine.remove(container)
    return ContainerEnd(exit_code=state.exit_code if state else None, oom_killed=bool(state and state.oom_killed))


def _listen(life: Life, journal: Journal, guard: "Guard") -> ContainerEnd:
    while True:
        try:
            stream, chunk = next(life)
        except StopIteration as end:
            ended: ContainerEnd = end.value
            return ended
        guard.begin()
        journal.feed(stream, chunk)


class Ended:
    def __init__(self, *, reason: Reason | None, exit_code: int | None, oom_killed: bool) -> None:
        self.reason, self.exit_code, self.oom_killed = reason, exit_code, oom_killed


class Guard:
    """Looks at clock, disk and signals while the container runs, and kills it for the first of them that says so."""

    def __init__(self, engine: Engine, setup: Setup, stop: threading.Event) -> None:
        self._engine, self._container = engine, setup.place.container
        self._limits, self._out = setup.limits, setup.place.out
        self._stop = stop
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="guard", daemon=True)
        self._began: float | None = None
        self._given_up = time.monotonic() + _START
        self.reason: Reason | None = None

    def begin(self) -> None:
        """The container has said something: from now on its time counts, and not the engine's."""
        if self._began is None:
            self._began = time.monotonic()

    def __enter__(self) -> "Guard":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        disk = _Disk(self._out, self._limits.disk)
        while not self._over.wait(_LOOK_EVERY):
            if self._stop.is_set():
                self.reason = "interrupted"
            elif self._limits.timeout and self._late(self._limits.timeout):
                self.reason = "timeout"
            elif disk.full():
                self.reason = "disk"
            if self.reason:
                self._kill()
                return

    def _late(self, timeout: float) -> bool:
        now = time.monotonic()
        return now > self._given_up if self._began is None else now - self._began > timeout

    def _kill(self) -> None:
        """Until it is gone: a container that is still being started cannot be killed yet."""
        while not self._over.is_set():
            with suppress(TsandboxError):
                self._engine.kill(self._container)
            self._over.wait(_LOOK_EVERY)


class _Disk:
    """How much a run has written: measured in full only when the disk has lost so much that it could be too much."""

    def __init__(self, directory: Path, limit: int | None) -> None:
        self._directory, self._limit = directory, limit
        self._free = self._at_first = shutil.disk_usage(directory).free
        self._measured = 0
        self._next = 0.0

    def full(self) -> bool:
        if not self._limit or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _MEASURE_EVERY
        free = shutil.disk_usage(self._directory).free
        if free < _RESERVE:
            return True
        if self._measured + (self._free - free) < self._limit:
            return False
        seen = written(self._directory)
        # What a recipe hides from us is counted by what the disk has lost since, whoever took it.
        self._free, self._measured = free, self._at_first - free if seen is None else seen
        return self._measured > self._limit


def written(directory: Path) -> int | None:
    """Bytes on disk below a directory while others write there; None where a part of it cannot be seen."""
    hidden: list[OSError] = []
    total = 0
    for _, _, files in trees.walk(directory, hidden.append):
        for entry in files:
            with suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    return None if any(not isinstance(error, FileNotFoundError) for error in hidden) else total


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Signals set `stop` while a container runs: killing the container ends everything else in good order.

    One that whoever started us had ignored, as `nohup` does, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(_: int, __: FrameType | None) -> None:
        stop.set()

    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _cpus(wanted: float | None) -> float | None:
    """Docker refuses more processors than there are; having fewer is no reason not to run."""
    return min(wanted, float(os.cpu_count() or 1)) if wanted else None
