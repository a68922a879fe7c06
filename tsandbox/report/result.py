"""One JSON shape for every outcome: printed by `--json`, stored per matrix cell, and read by all reports."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from tsandbox.errors import InvalidInput, Problem, Stage, Status, TsandboxError
from tsandbox.recipe.target import Target

SCHEMA = 1

StepStatus = Literal["passed", "failed", "not_run"]
State = Literal["passed", "flaky", "failed", "error", "timeout", "skipped"]


class TargetRecord(Struct, frozen=True, kw_only=True):
    os: str
    arch: str
    linux_family: str | None = None
    libc: str | None = None
    gpu: str | None = None

    def __str__(self) -> str:
        return "-".join(part for part in (self.os, self.linux_family, self.arch) if part)


class StepRecord(Struct, frozen=True, kw_only=True):
    """One step of the plan as it went; dependencies come first, `tool` says whose step it is."""

    number: int
    action: str
    status: StepStatus
    tool: str | None = None
    duration_ms: int | None = None
    file: str | None = None
    line: int | None = None
    note: str | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """Memory in bytes, timeout in seconds; None means unlimited."""

    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    timeout: float | None = None


class InstallRecord(Struct, frozen=True, kw_only=True):
    steps: tuple[StepRecord, ...] = ()
    notes: tuple[str, ...] = ()
    network: Literal["none", "egress"] | None = None
    limits: Limits | None = None
    # Read back from the live container; None where nothing was read (host install, or it ended too early).
    enforced: Limits | None = None
    unenforced: tuple[str, ...] = ()
    runner: str | None = None


class Check(Struct, frozen=True, kw_only=True):
    """One verification command: what was run, what was expected of it and what it said."""

    command: str
    ok: bool
    exit_code: int | None = None
    expected_exit_code: int = 0
    expected: tuple[str, ...] = ()
    output: str = ""
    reason: str | None = None


class VerifyRecord(Check, frozen=True, kw_only=True):
    additional: tuple[Check, ...] = ()


class ProblemRecord(Struct, frozen=True):
    """One fault of an input file, with keys of its own in the JSON, which a tuple has not."""

    file: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        return str(Problem(self.file, self.line, self.path, self.message))


class ErrorRecord(Struct, frozen=True, kw_only=True):
    type: str
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    details: tuple[str, ...] = ()
    problems: tuple[ProblemRecord, ...] = ()
    # The cause was outside the recipe, in the network or the engine.
    temporary: bool = False


class Attempt(Struct, frozen=True, kw_only=True):
    """A try that ended for a cause outside the recipe, and was followed by another."""

    exit_code: int
    error: ErrorRecord | None
    duration_ms: int


class Result(Struct, frozen=True, kw_only=True):
    # In the order of the contract, which is the order in which they are written.
    schema: int = SCHEMA
    status: Status
    stage: Stage | None = None
    exit_code: int
    tool: str | None = None
    target: TargetRecord | None = None
    image: str | None = None
    cached: bool | None = None
    install: InstallRecord | None = None
    verify: VerifyRecord | None = None
    duration_ms: int = 0
    log: str | None = None
    error: ErrorRecord | None = None
    # Beyond the contract, only ever added to.
    version: str | None = None
    source: str | None = None
    key: str | None = None
    image_size: int | None = None
    engine: str | None = None
    profile: str | None = None
    cell: str | None = None
    # Of the cell in its matrix plan: a result of another state of the recipe proves nothing.
    digest: str | None = None
    reproduce: str | None = None
    started: float | None = None
    build_ms: int | None = None
    flaky: bool = False
    attempts: tuple[Attempt, ...] = ()
    log_head: tuple[str, ...] = ()
    log_tail: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The status as reports count it: what passed only after a retry is flaky, which is not passed."""
        return "flaky" if self.flaky and self.status == "passed" else self.status


# What `--json` prints has these keys for every command and outcome, whatever else a command adds.
_EVERY = (
    "schema", "status", "stage", "exit_code", "tool", "target", "image", "cached", "install", "verify", "duration_ms",
    "log", "error",
)  # fmt: skip


def outcome_object(
    exit_code: int = 0, /, *, status: Status | None = None, why: str | None = None, **found: Any
) -> dict[str, Any]:
    """What a command found, in the shape of a result: by default it passed, or ended as its exit code says.

    `why` becomes the error of one that did not pass.
    """
    kind = _kind(exit_code)
    shape = Result(
        status=status or (kind.status if kind else "passed"),
        exit_code=exit_code,
        error=ErrorRecord(type=kind.__name__, message=why) if kind and why else None,
    )
    return {key: getattr(shape, key) for key in _EVERY} | found


def _kind(exit_code: int) -> type[TsandboxError] | None:
    """The kind of error that an exit code stands for."""
    if not exit_code:
        return None
    return next((kind for kind in TsandboxError.__subclasses__() if kind.exit_code == exit_code), TsandboxError)


def target_record(target: Target) -> TargetRecord:
    return msgspec.convert(msgspec.to_builtins(target), TargetRecord)


def error_record(error: BaseException) -> ErrorRecord:
    if not isinstance(error, TsandboxError):
        return ErrorRecord(type=type(error).__name__, message=str(error) or type(error).__name__)
    return ErrorRecord(
        type=type(error).__name__,
        message=error.message,
        hint=error.hint,
        file=error.file,
        line=error.line,
        details=error.details,
        problems=tuple(ProblemRecord(*each) for each in error.problems) if isinstance(error, InvalidInput) else (),
        temporary=error.temporary,
    )


def from_error(error: BaseException, **fields: Any) -> Result:
    """What ended with `error`, with the `fields` known by then; an unknown error is a bug, exit code 1."""
    known = error if isinstance(error, TsandboxError) else None
    return Result(
        status=known.status if known else "error",
        exit_code=known.exit_code if known else 1,
        error=error_record(error),
        **{"stage": known.stage if known else None, "log": known.log if known else None, **fields},
    )


def encode(result: Result) -> bytes:
    return msgspec.json.encode(result)


def decode(data: bytes | str, *, source: str = "result") -> Result:
    try:
        result = _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{source}: not a tsandbox result: {error}", file=source) from error
    if result.schema > SCHEMA:
        raise InvalidInput(
            f"{source}: result schema {result.schema} is newer than {SCHEMA}, the newest that is read",
            file=source,
            hint="use the tsandbox version that wrote it",
        )
    return result


_DECODER = msgspec.json.Decoder(Result)
