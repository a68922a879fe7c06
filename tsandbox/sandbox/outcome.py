"""What a run in the sandbox showed: everything that is known at its end, whichever way it ended."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from tsandbox.derive.spec import ContainerSpec
from tsandbox.errors import Stage, Status, TsandboxError
from tsandbox.plan import Plan
from tsandbox.recipe.target import Target


class StepOutcome(Struct, frozen=True, kw_only=True):
    """One step; numbers run depth-first over the plan, dependencies first, from 1."""

    number: int
    action: str
    tool: str
    status: Literal["passed", "failed", "not_run"]
    file: str | None = None
    line: int | None = None
    duration_ms: int | None = None
    note: str | None = None


class CheckOutcome(Struct, frozen=True, kw_only=True):
    """One verification command, judged on the host from what the container recorded."""

    command: str
    ok: bool
    exit_code: int | None
    expected_exit_code: int = 0
    expected: tuple[str, ...] = ()
    output: str = ""
    reason: str | None = None
    duration_ms: int | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """Memory and disk in bytes, timeout in seconds; None means that nothing holds it back."""

    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    timeout: float | None = None
    disk: int | None = None


class Finding(Struct, frozen=True, kw_only=True):
    """Something that the runner noticed, in its words."""

    kind: str
    message: str
    data: dict[str, Any] = {}
    step: int | None = None
    fatal: bool = False


class Advice(Struct, frozen=True, kw_only=True):
    """A thing that is missing in the sandbox, and the packages that would bring it, best first."""

    kind: str
    name: str
    packages: tuple[str, ...] = ()
    needed_by: str | None = None
    # The step that lacked it; None where a verification did.
    step: int | None = None
    note: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """What to write into the recipe so that what is missing is declared: TOML to paste, and where."""

    toml: str
    file: str
    line: int | None = None
    packages: tuple[str, ...] = ()
    # An existing line is to be replaced; otherwise the lines are new.
    replaces: bool = False


class Outcome(Struct, frozen=True, kw_only=True):
    plan: Plan
    target: Target
    started: float
    duration_ms: int = 0
    error: TsandboxError | None = None
    spec: ContainerSpec | None = None
    engine: str | None = None
    engine_facts: dict[str, Any] = {}
    key: str | None = None
    image: str | None = None
    image_size: int | None = None
    cached: bool | None = None
    build_ms: int | None = None
    steps: tuple[StepOutcome, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    advice: tuple[Advice, ...] = ()
    change: Change | None = None
    notes: tuple[str, ...] = ()
    network: Literal["none", "egress"] = "none"
    limits: Limits | None = None
    enforced: Limits | None = None
    unenforced: tuple[str, ...] = ()
    runner: str | None = None
    log: Path | None = None
    # Head and tail of the output; the whole of it is in the log.
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    # What the runner told, masked; the output of programs is in the log only.
    events: tuple[dict[str, Any], ...] = ()
    # What `--keep` left behind, by kind.
    kept: dict[str, str] = {}
    stage: Stage | None = None

    @property
    def status(self) -> Status:
        return self.error.status if self.error else "passed"

    @property
    def exit_code(self) -> int:
        return self.error.exit_code if self.error else 0
