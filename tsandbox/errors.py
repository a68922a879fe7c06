"""Every way in which tsandbox can fail: what happened, where, what to do, and the exit code that says so.

Deep code raises these; only `cli/` turns them into text or JSON and ends the process.
"""

from collections.abc import Iterable
from typing import ClassVar, Literal, NamedTuple

Stage = Literal["load", "derive", "build", "install", "verify"]
Status = Literal["passed", "failed", "error", "skipped", "timeout"]


class Problem(NamedTuple):
    """One thing wrong in one place of an input file."""

    file: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class TsandboxError(Exception):
    """Base of all errors a user, a recipe, an engine or the machine can cause."""

    exit_code: ClassVar[int] = 1
    status: ClassVar[Status] = "error"
    stage: Stage | None = None
    # The cause lies in the network or the engine and may be gone at the next try: the matrix retries these only.
    temporary: bool = False
    # The file with the whole output of what failed, where there is one.
    log: str | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        stage: Stage | None = None,
        details: Iterable[str] = (),
        temporary: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.stage = stage or type(self).stage
        self.temporary = type(self).temporary if temporary is None else temporary
        # Lines that help to understand the failure: a command that can be run again, the tail of its output.
        self.details = tuple(details)


class UsageError(TsandboxError):
    """The command line, an environment variable or the configuration file is wrong."""

    exit_code = 2
    stage = "load"


class InvalidInput(TsandboxError):
    """A recipe or plan is not valid; `problems` holds every fault found, not only the first."""

    exit_code = 3
    stage = "load"

    def __init__(
        self,
        message: str,
        *,
        problems: Iterable[Problem] = (),
        hint: str | None = None,
        file: str | None = None,
    ) -> None:
        self.problems = tuple(problems)
        first = self.problems[0] if self.problems else None
        super().__init__(
            message,
            hint=hint,
            file=file or (first.file if first else None),
            line=first.line if first else None,
            details=[str(problem) for problem in self.problems[1:]],
        )


class MissingDependency(InvalidInput):
    """A recipe names a dependency that no recipe directory holds, or dependencies form a cycle."""


class NotSupported(TsandboxError):
    """The input is valid, but not for this target, family, profile or base."""

    exit_code = 4
    stage = "derive"


class EngineUnavailable(TsandboxError):
    """No usable container engine; the subclasses say which of the usual reasons it is."""

    exit_code = 5
    stage = "build"


class EngineNotInstalled(EngineUnavailable):
    """The engine's program is not on PATH."""


class EngineNotRunning(EngineUnavailable):
    """The engine is installed, but its daemon or socket does not answer."""

    temporary = True


class EnginePermission(EngineUnavailable):
    """The engine answers, but not to this user."""


class EngineTooOld(EngineUnavailable):
    """The engine works, but lacks what tsandbox needs."""


class EngineLost(EngineUnavailable):
    """The engine answered before and stopped answering in the middle of the work."""

    temporary = True


class EngineLookupFailed(EngineUnavailable):
    """A look-up failed: whether the image or container exists is unknown, which is not the same as 'not found'."""

    temporary = True


class BuildFailed(TsandboxError):
    """An image or base could not be built."""

    exit_code = 6
    status = "failed"
    stage = "build"


class NoSpace(BuildFailed):
    """The disk is full."""


class InstallFailed(TsandboxError):
    """A step of the installation failed in the sandbox or on the host."""

    exit_code = 7
    status = "failed"
    stage = "install"


class DownloadFailed(InstallFailed):
    """A file could not be fetched, or is not the file that was declared."""


class VerifyFailed(TsandboxError):
    """The installation ran, but its verification did not hold."""

    exit_code = 8
    status = "failed"
    stage = "verify"


class TimedOut(TsandboxError):
    """The time limit passed; what was running has been stopped and removed."""

    exit_code = 9
    status = "timeout"


class Skipped(TsandboxError):
    """Nothing was proved, and `--allow-skip` was not given."""

    exit_code = 10
    status = "skipped"


class Interrupted(TsandboxError):
    """Ctrl-C or a termination signal; what was running has been stopped and removed."""

    exit_code = 130
