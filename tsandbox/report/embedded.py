"""What the HTML report embeds; empty fields are left out, since 10,000 cells travel in one file."""

from collections.abc import Iterable

from msgspec import Struct

from tsandbox.report.compare import Comparison
from tsandbox.report.result import Check, ErrorRecord, Limits, Result, StepRecord, TargetRecord
from tsandbox.report.run import Excluded, Missing, Report

_LINES = 40


class Column(Struct, frozen=True, kw_only=True):
    family: str
    arch: str


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    action: str
    status: str = "passed"
    ms: int | None = None
    tool: str | None = None
    place: str | None = None
    note: str | None = None


class Verify(Struct, frozen=True, kw_only=True, omit_defaults=True):
    command: str
    ok: bool
    exit_code: int | None = None
    expected_exit_code: int = 0
    expected: tuple[str, ...] = ()
    output: str = ""


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    message: str
    hint: str | None = None
    place: str | None = None
    details: tuple[str, ...] = ()


class Cell(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    recipe: str
    column: int
    state: str
    ms: int = 0
    exit_code: int = 0
    stage: str | None = None
    image: str | None = None
    size: int | None = None
    cached: bool | None = None
    build_ms: int | None = None
    engine: str | None = None
    profile: str | None = None
    version: str | None = None
    source: str | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    network: str | None = None
    limits: Limits | None = None
    unenforced: tuple[str, ...] = ()
    checks: tuple[Verify, ...] = ()
    error: Failure | None = None
    attempts: tuple[Failure, ...] = ()
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    log: str | None = None
    reproduce: str | None = None
    # State and duration in the earlier run.
    was: tuple[str, int] | None = None


class Hole(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell that has no result: excluded with a reason, or missing."""

    id: str
    recipe: str
    column: int
    state: str
    kind: str
    reason: str
    owner: str | None = None
    link: str | None = None
    expires: str | None = None


class Embedded(Struct, frozen=True, kw_only=True):
    title: str
    version: str | None
    started: float | None
    ok: bool
    columns: list[Column]
    cells: list[Cell]
    holes: list[Hole]
    comparison: Comparison | None


def embedded(report: Report, comparison: Comparison | None) -> Embedded:
    columns = _Columns()
    return Embedded(
        title=report.title,
        version=report.version,
        started=report.started,
        ok=report.exit_code == 0,
        cells=[_cell(result, columns.number(result.target), report) for result in report.results],
        holes=[
            *(_excluded(cell, columns.number(cell.target)) for cell in report.excluded),
            *(_missing(cell, columns.number(cell.target)) for cell in report.missing),
        ],
        columns=columns.seen(),
        comparison=comparison,
    )


class _Columns:
    """Columns in order of first use, each target once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, target: TargetRecord | None) -> int:
        name = (target.linux_family or target.os, target.arch) if target else ("unknown", "")
        return self._numbers.setdefault(name, len(self._numbers))

    def seen(self) -> list[Column]:
        return [Column(family=family, arch=arch) for family, arch in self._numbers]


def _cell(result: Result, column: int, report: Report) -> Cell:
    name = result.cell or result.tool or "?"
    was = (report.earlier or {}).get(name)
    install = result.install
    return Cell(
        id=name,
        recipe=result.tool or name,
        column=column,
        state=result.state,
        ms=result.duration_ms,
        exit_code=result.exit_code,
        stage=result.stage,
        image=result.image,
        size=result.image_size,
        cached=result.cached,
        build_ms=result.build_ms,
        engine=result.engine,
        profile=result.profile,
        version=result.version,
        source=result.source,
        steps=tuple(_step(step, result.source) for step in install.steps) if install else (),
        notes=install.notes if install else (),
        network=install.network if install else None,
        limits=install.limits if install else None,
        unenforced=install.unenforced if install else (),
        checks=tuple(_checks(result)),
        error=_failure(result.error) if result.error else None,
        attempts=tuple(_failure(attempt.error) for attempt in result.attempts if attempt.error),
        head=result.log_head[:_LINES],
        tail=result.log_tail[-_LINES:],
        log=result.log,
        reproduce=result.reproduce,
        was=(was.state, was.duration_ms) if was else None,
    )


def _step(step: StepRecord, source: str | None) -> Step:
    return Step(
        action=step.action,
        status=step.status,
        ms=step.duration_ms,
        tool=step.tool,
        place=_place(step.file or source, step.line) if step.line else None,
        note=step.note,
    )


def _checks(result: Result) -> Iterable[Verify]:
    checks: list[Check] = [result.verify, *result.verify.additional] if result.verify else []
    for check in checks:
        yield Verify(
            command=check.command,
            ok=check.ok,
            exit_code=check.exit_code,
            expected_exit_code=check.expected_exit_code,
            expected=check.expected,
            output=check.output,
        )


def _failure(error: ErrorRecord) -> Failure:
    problems = tuple(str(problem) for problem in error.problems)
    return Failure(
        type=error.type,
        message=error.message,
        hint=error.hint,
        place=_place(error.file, error.line),
        details=(error.details or problems)[:_LINES],
    )


def _place(file: str | None, line: int | None) -> str | None:
    return f"{file}:{line}" if file and line else file


def _excluded(cell: Excluded, column: int) -> Hole:
    return Hole(
        id=cell.id,
        recipe=cell.tool,
        column=column,
        state="excluded",
        kind=cell.kind,
        reason=cell.reason,
        owner=cell.owner,
        link=cell.link,
        expires=cell.expires,
    )


def _missing(cell: Missing, column: int) -> Hole:
    reason = "planned, but no result says how it went"
    return Hole(id=cell.id, recipe=cell.tool, column=column, state="missing", kind="missing", reason=reason)
