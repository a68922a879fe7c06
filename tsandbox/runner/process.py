"""Running the programs of a step: argument lists, output passed on as it comes, nothing left behind."""

import codecs
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tsandbox.runner.undisturbed import undisturbed

OnOutput = Callable[[str, str], None]

_CHUNK = 8192
# A daemon may hold the pipes of the command that started it: after the end we listen no longer than this.
_LINGER = 0.3
_KEEP = 256 << 10


@dataclass(frozen=True, kw_only=True)
class Ended:
    exit_code: int
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: int


class Kept:
    """The head and the tail of a stream, however long it is."""

    def __init__(self, limit: int = _KEEP) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        room = self._limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if (over := len(self._tail) - self._limit) > 0:
            self._dropped += over
            del self._tail[:over]

    @property
    def truncated(self) -> bool:
        return self._dropped > 0

    def text(self) -> str:
        gap = f"\n[… {self._dropped} bytes left out …]\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")


class _Lines:
    """Passes a stream on in whole lines; a line without end comes in pieces, so that nothing is held back."""

    def __init__(self, sink: Callable[[str], None]) -> None:
        self._sink = sink
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        text = self._rest + self._decode(data, final)
        cut = len(text) if final or len(text) > _CHUNK else text.rfind("\n") + 1
        self._rest = text[cut:]
        if cut:
            self._sink(text[:cut])


class Processes:
    """All that the runner starts. Each command leads its own process group, and no group outlives the run."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self.services: list[subprocess.Popen[bytes]] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        on_output: OnOutput,
        stdin: bytes | None = None,
    ) -> Ended:
        """Run a program to its end. Raises OSError if it cannot be started at all."""
        began = time.monotonic()
        with undisturbed():
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._groups.add(child.pid)
        try:
            if child.stdin:
                _feed(child, stdin or b"")
            kept = _pump(child, on_output)
            code = child.wait()
        finally:
            # What a command leaves running in its group has no part in later steps.
            self._kill(child.pid)
            child.wait()
            _close(child)
        return Ended(
            exit_code=code,
            stdout=kept["stdout"].text(),
            stderr=kept["stderr"].text(),
            truncated=any(each.truncated for each in kept.values()),
            duration_ms=round((time.monotonic() - began) * 1000),
        )

    def start_service(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
    ) -> subprocess.Popen[bytes]:
        """Start a program that stays until the run ends."""
        with log.open("wb") as output, undisturbed():
            service = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._groups.add(service.pid)
            self.services.append(service)
        return service

    def signal(self, number: int) -> None:
        for group in list(self._groups):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)

    def end(self, grace: float = 0.5) -> None:
        """Ask every group to end, then make it; services get the grace to close what they hold."""
        self.signal(signal.SIGTERM)
        until = time.monotonic() + grace
        for service in self.services:
            with suppress(subprocess.TimeoutExpired):
                service.wait(max(0.0, until - time.monotonic()))
        for group in list(self._groups):
            self._kill(group)
        for service in self.services:
            service.wait()

    def _kill(self, group: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        self._groups.discard(group)


def _feed(child: subprocess.Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None
    # A program that does not read its input closes the pipe; its exit code says the rest.
    with suppress(BrokenPipeError), child.stdin:
        child.stdin.write(data)


def _pump(child: subprocess.Popen[bytes], on_output: OnOutput) -> dict[str, Kept]:
    kept = {"stdout": Kept(), "stderr": Kept()}
    lines = {name: _Lines(lambda text, name=name: on_output(name, text)) for name in kept}  # type: ignore[misc]
    ended: float | None = None
    with closing(selectors.DefaultSelector()) as selector:
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map() and (ended is None or time.monotonic() < ended):
            for key, _ in selector.select(_LINGER):
                if data := os.read(key.fd, 65536):
                    kept[key.data].add(data)
                    lines[key.data].feed(data)
                else:
                    selector.unregister(key.fileobj)
            if ended is None and child.poll() is not None:
                ended = time.monotonic() + _LINGER
    for each in lines.values():
        each.feed(b"", final=True)
    return kept


def _close(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()
