"""An engine's command line as this host needs it: program, fixed arguments, environment, and errors that explain."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from tsandbox.engine import diagnose, process
from tsandbox.engine.process import CommandFailed, Completed
from tsandbox.engine.protocol import Stream
from tsandbox.errors import EngineLookupFailed

# A look-up or a small change of state: an engine that needs longer than this hangs.
QUICK = 120.0
_ATTEMPTS, _PAUSE = 20, 0.1


class EngineCommand:
    """Calls of one engine. `answered` tells an engine that was lost from one that never worked."""

    def __init__(
        self,
        name: Literal["podman", "docker"],
        program: str,
        *,
        arguments: Sequence[str] = (),
        env: Mapping[str, str | None] | None = None,
    ) -> None:
        self.name = name
        self.program = program
        self.arguments = tuple(arguments)
        self.env = dict(env or {})
        self.answered = False

    def argv(self, *args: str) -> list[str]:
        return [self.program, *self.arguments, *args]

    def call(
        self,
        *args: str,
        doing: str,
        stdin: bytes | IO[bytes] | None = None,
        secret_env: Mapping[str, str] | None = None,
        timeout: float | None = QUICK,
        cwd: Path | None = None,
    ) -> Completed:
        argv = self.argv(*args)
        with self.explained(doing):
            done = process.run(argv, env=self.env, secret_env=secret_env, stdin=stdin, timeout=timeout, cwd=cwd)
        self.answered = True
        return done

    def look_up(self, *args: str, doing: str) -> list[Any] | None:
        """Parsed JSON of an `inspect`; None only when the engine says that there is no such thing."""
        import msgspec

        try:
            with self.explained(doing, lookup=True):
                done = self._settled(*args)
                if done.returncode and not diagnose.not_found(done.error_text):
                    raise process.failure(done, self.name)
                found: list[Any] = [] if done.returncode else msgspec.json.decode(done.stdout)
        except msgspec.DecodeError as error:
            raise EngineLookupFailed(
                f"{self.name}: {doing}: its answer is not JSON", hint="run `tsandbox doctor`"
            ) from error
        self.answered = True
        return found or None

    def _settled(self, *args: str) -> Completed:
        """Podman's answer about one image can fail over another that is being made or removed at that moment."""
        for _ in range(_ATTEMPTS):
            done = process.run(self.argv(*args), env=self.env, timeout=QUICK, check=False)
            if not done.returncode or not diagnose.in_flux(done.error_text):
                break
            time.sleep(_PAUSE)
        return done

    def stream(
        self, *args: str, doing: str, timeout: float | None, cwd: Path | None = None
    ) -> Iterator[tuple[Stream, bytes]]:
        with self.explained(doing), process.start(self.argv(*args), env=self.env, cwd=cwd) as child:
            yield from process.output(child, timeout=timeout)

    @contextmanager
    def explained(self, doing: str, *, lookup: bool = False) -> Iterator[None]:
        try:
            yield
        except CommandFailed as failed:
            raise diagnose.explain(self.name, failed, answered=self.answered, doing=doing, lookup=lookup) from failed
