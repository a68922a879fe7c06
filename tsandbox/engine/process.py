"""The one door to other programs: argument lists, no shell, a process group each, nothing left at the end."""

import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from tsandbox.engine.protocol import Sink, Stream
from tsandbox.errors import Interrupted, TimedOut, TsandboxError
from tsandbox.printable import one_line
from tsandbox.runner.undisturbed import undisturbed

TAIL_LINES = 20
_LONGEST_WORD = 300
# A daemon that a command leaves behind may hold its pipes open; after the command's end we stop listening.
_LINGER = 0.5
_TERM_GRACE = 3.0


class CommandFailed(TsandboxError):
    """A program ended with a non-zero status; `output` is the tail of what it said."""

    def __init__(self, message: str, *, command: str, returncode: int, output: str) -> None:
        tail = [one_line(line) for line in output.splitlines()[-TAIL_LINES:]]
        super().__init__(message, details=[f"$ {command}", *tail])
        self.command = command
        self.returncode = returncode
        self.output = output


class ProgramMissing(CommandFailed):
    """The program is not on PATH."""


class Completed(Struct, frozen=True, kw_only=True):
    """How a command ended. With `on_line`, `stdout` is the tail of both streams together."""

    command: str
    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode(errors="replace")


class Child:
    """A running program, with its whole process group."""

    def __init__(self, popen: subprocess.Popen[bytes], program: str, command: str) -> None:
        self.popen = popen
        self.program = Path(program).name
        self.command = command
        self.interrupted = False

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, number)

    def stop(self) -> None:
        """TERM to the group, then KILL: the group may outlive its leader, so it is signalled to the end."""
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(_TERM_GRACE)
        self.signal(signal.SIGKILL)
        self.popen.wait()


# Told of every program that is started, as it is shown: `--debug` sets it, once, before anything runs.
told: Callable[[str], None] | None = None
_live: set[Child] = set()
_live_lock = threading.Lock()


def stop_all() -> None:
    """End every running child of any thread; their callers get `Interrupted`. For a signal handler."""
    with _live_lock:
        children = list(_live)
    for child in children:
        child.interrupted = True
        child.signal(signal.SIGTERM)
    for child in children:
        child.stop()


def run(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str | None] | None = None,
    secret_env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | IO[bytes] | None = None,
    on_line: Sink | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> Completed:
    """Run a program to its end. `env` adds to ours (None unsets); so does `secret_env`, never shown."""
    parts: dict[Stream, deque[bytes]] = {"stdout": deque(), "stderr": deque()}
    lines = _Lines(on_line) if on_line else None
    with start(argv, env=env, secret_env=secret_env, cwd=cwd, stdin=stdin, merged=lines is not None) as child:
        for name, chunk in output(child, timeout=timeout, tail=lines.tail if lines else None):
            if lines:
                lines.feed(chunk)
            else:
                parts[name].append(chunk)
    if lines:
        lines.end()
        parts["stdout"].append("\n".join(lines.tail).encode())
    done = Completed(
        command=child.command,
        returncode=child.popen.returncode,
        stdout=b"".join(parts["stdout"]),
        stderr=b"".join(parts["stderr"]),
    )
    if check and done.returncode:
        raise failure(done, child.program)
    return done


def attach(argv: Sequence[str | Path], *, env: Mapping[str, str | None] | None = None, cwd: Path | None = None) -> int:
    """Run a program on our own terminal, in our process group so that Ctrl-C reaches it; its exit status."""
    with suppress(KeyboardInterrupt):
        return subprocess.call([str(arg) for arg in argv], env=_environment(env, None), cwd=cwd)
    return -signal.SIGINT


def failure(done: Completed, program: str) -> CommandFailed:
    how = f"status {done.returncode}" if done.returncode > 0 else _signal_name(-done.returncode)
    said = done.error_text if done.stderr.strip() else done.text
    return CommandFailed(f"{program} ended with {how}", command=done.command, returncode=done.returncode, output=said)


@contextmanager
def start(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str | None] | None = None,
    secret_env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | IO[bytes] | None = None,
    merged: bool = False,
) -> Iterator[Child]:
    """A program in its own session and process group; whatever way the block is left, the group is gone."""
    words = [str(arg) for arg in argv]
    shown = _shown(words, env, secret_env)
    if told:
        told(shown)
    child: Child | None = None
    try:
        with _input(stdin) as source, undisturbed():
            child = _spawned(words, shown, env=_environment(env, secret_env), cwd=cwd, stdin=source, merged=merged)
        yield child
    except BaseException:
        # Also when the leader has ended: what it started may still run.
        if child:
            child.stop()
        raise
    finally:
        if child:
            _forget(child)


def _spawned(
    words: list[str], shown: str, *, env: dict[str, str], cwd: Path | None, stdin: int | IO[bytes], merged: bool
) -> Child:
    try:
        popen = subprocess.Popen(
            words,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            # No controlling terminal: a program that wants a password fails instead of waiting for ever.
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise ProgramMissing(
            f"{words[0]}: cannot be run: {error.strerror}", command=shown, returncode=127, output=""
        ) from error
    child = Child(popen, words[0], shown)
    with _live_lock:
        _live.add(child)
    return child


def _forget(child: Child) -> None:
    if child.popen.poll() is None:
        child.stop()
    for pipe in (child.popen.stdout, child.popen.stderr):
        if pipe:
            pipe.close()
    with _live_lock:
        _live.discard(child)


def output(
    child: Child, *, timeout: float | None = None, tail: Sequence[str] | None = None
) -> Iterator[tuple[Stream, bytes]]:
    """Chunks of a child's output until its end; after `timeout` seconds its group is killed: `TimedOut`."""
    deadline = None if timeout is None else time.monotonic() + timeout
    ended: float | None = None
    with closing(selectors.DefaultSelector()) as selector:
        for name, pipe in (("stdout", child.popen.stdout), ("stderr", child.popen.stderr)):
            if pipe:
                selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map() and (ended is None or time.monotonic() < ended):
            for key, _ in selector.select(_LINGER / 2 if ended is not None else _next_wait(deadline)):
                if chunk := os.read(key.fd, 65536):
                    yield key.data, chunk
                else:
                    selector.unregister(key.fileobj)
            _check_deadline(child, deadline, tail, timeout)
            if ended is None and child.popen.poll() is not None:
                ended = time.monotonic() + _LINGER
    _wait_for_end(child, deadline, tail, timeout)
    if child.interrupted:
        raise Interrupted("interrupted", details=[f"$ {child.command}"])


def _next_wait(deadline: float | None) -> float:
    # Wakes now and then even without output, because a child can end while a stranger holds its pipes open.
    return 1.0 if deadline is None else max(0.0, min(1.0, deadline - time.monotonic()))


def _check_deadline(child: Child, deadline: float | None, tail: Sequence[str] | None, timeout: float | None) -> None:
    if deadline is None or time.monotonic() < deadline or child.popen.poll() is not None:
        return
    child.stop()
    last = [one_line(line) for line in (tail or ())]
    raise TimedOut(
        f"{child.program}: not done after {timeout:g} s; it was stopped",
        details=[f"$ {child.command}", *last],
    )


def _wait_for_end(child: Child, deadline: float | None, tail: Sequence[str] | None, timeout: float | None) -> None:
    """A child may close its pipes and work on: its end counts, not theirs."""
    while child.popen.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            child.popen.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        _check_deadline(child, deadline, tail, timeout)


class _Lines:
    """Cuts chunks into lines for a sink and keeps the last of them for the error message."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.rest = b""
        self.tail: deque[str] = deque(maxlen=4 * TAIL_LINES)

    def feed(self, chunk: bytes) -> None:
        # A carriage return is how progress bars start a line anew.
        *whole, self.rest = (self.rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            self._emit(line)

    def end(self) -> None:
        if self.rest:
            self._emit(self.rest)

    def _emit(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        self.tail.append(text)
        self.sink(text)


@contextmanager
def _input(stdin: bytes | IO[bytes] | None) -> Iterator[int | IO[bytes]]:
    if not isinstance(stdin, bytes):
        yield stdin if stdin is not None else subprocess.DEVNULL
        return
    # In memory and without a name: secrets pass here, and no reader can fall behind a full pipe.
    with os.fdopen(os.memfd_create("stdin"), "r+b") as memory:
        memory.write(stdin)
        memory.seek(0)
        yield memory


def _environment(env: Mapping[str, str | None] | None, secret_env: Mapping[str, str] | None) -> dict[str, str]:
    merged = {**os.environ, **(env or {}), **(secret_env or {})}
    return {key: value for key, value in merged.items() if value is not None}


def _shown(argv: Sequence[str], env: Mapping[str, str | None] | None, secret_env: Mapping[str, str] | None) -> str:
    added = [f"{key}={shlex.quote(value)}" for key, value in (env or {}).items() if value is not None]
    hidden = [f"{key}=..." for key in (secret_env or {})]
    return one_line(" ".join([*added, *hidden, shlex.join(map(_shortened, argv))]))


def _shortened(word: str) -> str:
    """A label can hold a whole Dockerfile: nobody reads on behind it."""
    return word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…"


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
