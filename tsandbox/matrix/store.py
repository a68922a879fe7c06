"""Result files: one per cell, there in full or not at all, and what a set of them says about a plan."""

import errno
import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tsandbox.errors import InvalidInput, Problem, Skipped, TsandboxError, UsageError
from tsandbox.matrix.model import Cell, MatrixPlan, read_matrix_plan, write_matrix_plan
from tsandbox.report.result import Result, decode, encode
from tsandbox.report.run import Missing

PLAN_NAME = "matrix-plan.json"
_CELLS = "cells"
_LOGS = "logs"
_SHOWN = 20
# Above so many cells a report keeps only the last lines of those that passed: pages of 50,000 must stay readable.
_MANY = 2_000
_LAST_LINES = 3


class Collected(Struct, frozen=True, kw_only=True):
    """Results beside the plan that they should answer."""

    results: tuple[Result, ...]
    # Where each of them was read.
    files: tuple[Path, ...] = ()
    missing: tuple[Missing, ...] = ()
    # Results that no planned cell asked for, with the file each is in and why it does not belong.
    foreign: tuple[Problem, ...] = ()
    # Second results of cells that have one which says something else.
    twice: tuple[Problem, ...] = ()
    # Files in the place of results that hold none.
    unreadable: tuple[Problem, ...] = ()


def write_result(directory: Path, result: Result) -> Path:
    """Atomically: a reader, or a machine that loses power, never sees half a file."""
    assert result.cell
    return _write(directory / _CELLS, f"{result.cell}.json", encode(result) + b"\n")


def with_log(directory: Path, result: Result, log: bytes | None = None) -> Result:
    """The log of what did not simply pass lies beside the results and travels with them."""
    if result.state == "passed" or not result.log:
        return result
    try:
        data = Path(result.log).read_bytes() if log is None else log
    except OSError:
        return result
    path = _write(directory / _LOGS, f"{result.cell}.log", data)
    return replace(result, log=str(path.relative_to(directory)))


def copy_result(directory: Path, file: Path) -> Path:
    """The result file as it is, with its log: what is kept of it in memory may be less."""
    log = file.parent.with_name(_LOGS) / f"{file.stem}.log"
    if log.is_file():
        _write(directory / _LOGS, log.name, log.read_bytes())
    return _write(directory / _CELLS, file.name, file.read_bytes())


def _write(folder: Path, name: str, data: bytes) -> Path:
    partial = folder / f".{name}.{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        return partial.replace(folder / name)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        # A full disk has a message of its own, wherever it is met.
        if error.errno == errno.ENOSPC:
            raise
        raise UsageError(f"{folder / name}: cannot be written: {error.strerror}", file=str(folder)) from None


def begin(directory: Path, plan: MatrixPlan, cells: Iterable[Cell], *, resume: bool) -> None:
    """Make the directory this plan's: what an earlier run left there must not pass for what this one shows."""
    known = {cell.id for cell in plan.cells}
    files = list((directory / _CELLS).glob("*.json"))
    if files and not (directory / PLAN_NAME).exists():
        raise UsageError(
            f"{directory / _CELLS} holds files, and no matrix ran here: they are not removed",
            hint="name another directory: --results DIR",
        )
    if not resume:
        same = _plan_there(directory) == _identity(plan)
        # Other shards of the same plan may have written here, and theirs stay.
        known = known - {cell.id for cell in cells} if same else set()
    for path in files:
        if path.stem not in known:
            path.unlink()
            (directory / _LOGS / f"{path.stem}.log").unlink(missing_ok=True)
    write_plan_copy(directory, plan)


def _plan_there(directory: Path) -> frozenset[tuple[str, str | None]] | None:
    try:
        return _identity(read_matrix_plan(directory / PLAN_NAME))
    except InvalidInput:
        return None


def _identity(plan: MatrixPlan) -> frozenset[tuple[str, str | None]]:
    return frozenset((cell.id, cell.digest) for cell in plan.cells)


def write_plan_copy(directory: Path, plan: MatrixPlan) -> None:
    _write(directory, PLAN_NAME, write_matrix_plan(plan))


def read_result(directory: Path, cell: Cell) -> Result | None:
    """The finished result of exactly this cell, or None: of another state of the recipe it says nothing."""
    path = directory / _CELLS / f"{cell.id}.json"
    if not path.is_file():
        return None
    try:
        result = decode(path.read_bytes(), source=str(path))
    except InvalidInput:
        # What a machine that lost its power left behind is run again, and then written anew.
        return None
    return result if result.digest == cell.digest else None


def find_plan(directories: Iterable[Path]) -> MatrixPlan:
    """The plan that the runs left in their result directories; all must have run the same cells."""
    found: dict[frozenset[tuple[str, str | None]], MatrixPlan] = {}
    places = [path for directory in directories for path in sorted(directory.rglob(PLAN_NAME))]
    if not places:
        raise InvalidInput(f"no {PLAN_NAME} in the result directories", hint="name the plan that was run: --plan FILE")
    for path in places:
        plan = read_matrix_plan(path)
        found.setdefault(_identity(plan), plan)
    if len(found) > 1:
        raise InvalidInput(
            f"the results come from {len(found)} different plans: {', '.join(map(str, places[:_SHOWN]))}",
            hint="merge results of one plan, or name it: --plan FILE",
        )
    return next(iter(found.values()))


def collect(plan: MatrixPlan, directories: Iterable[Path]) -> Collected:
    cells = {cell.id: cell for cell in plan.cells}
    shorten = len(cells) > _MANY
    found: dict[str, tuple[Path, Result]] = {}
    foreign: list[Problem] = []
    twice: list[Problem] = []
    unreadable: list[Problem] = []
    for path in result_files(directories):
        try:
            result = decode(path.read_bytes(), source=str(path))
        except InvalidInput as error:
            # Told with the others, and its cell is missing: a report of the rest can still be made.
            unreadable.append(Problem(str(path), None, "", error.message.removeprefix(f"{path}: ")))
            continue
        result = _without_most_output(result) if shorten else result
        if why := _foreign(result, cells):
            foreign.append(Problem(str(path), None, "", why))
        elif result.cell and found.setdefault(result.cell, (path, result))[1] != result:
            twice.append(Problem(str(path), None, "", f"{result.cell} has another result in {found[result.cell][0]}"))
    return Collected(
        results=tuple(found[cell.id][1] for cell in plan.cells if cell.id in found),
        files=tuple(found[cell.id][0] for cell in plan.cells if cell.id in found),
        missing=tuple(
            Missing(id=cell.id, tool=cell.tool, target=cell.target, source=cell.recipe)
            for cell in plan.cells
            if cell.id not in found
        ),
        foreign=tuple(foreign),
        twice=tuple(twice),
        unreadable=tuple(unreadable),
    )


def _without_most_output(result: Result) -> Result:
    """What passed is one of many and nobody reads all of it; the whole is in the result file and in the log."""
    if result.state != "passed" or len(result.log_head) + len(result.log_tail) <= _LAST_LINES:
        return result
    return replace(result, log_head=(), log_tail=(result.log_tail or result.log_head)[-_LAST_LINES:])


def result_files(directories: Iterable[Path]) -> Iterator[Path]:
    for directory in directories:
        if not directory.is_dir():
            raise InvalidInput(f"{directory}: no such directory of results", file=str(directory))
        for root, folders, names in os.walk(directory):
            folders.sort()
            if Path(root).name == _CELLS:
                yield from (
                    Path(root, name) for name in sorted(names) if name.endswith(".json") and not name.startswith(".")
                )


def _foreign(result: Result, cells: dict[str, Cell]) -> str | None:
    cell = cells.get(result.cell or "")
    if cell is None:
        return f"{result.cell or 'a result without a cell'} is not in the plan"
    if result.digest != cell.digest:
        return f"{cell.id} was run from another state of the recipe than the plan's"
    return None


def incomplete(collected: Collected, directory: Path | None = None) -> TsandboxError | None:
    """Why these results do not prove the plan, whatever they say themselves. `directory` holds them and the plan."""
    again = f"tsandbox matrix run --resume --results {shlex.quote(str(directory or 'DIR'))}"
    if directory is None:
        again = f"merge with --output DIR, then {again}"
    if collected.unreadable:
        count = len(collected.unreadable)
        return _refused(
            f"{count} result {'files cannot' if count > 1 else 'file cannot'} be read",
            collected.unreadable,
            hint=f"run these cells again: {again}",
        )
    if collected.foreign:
        count = len(collected.foreign)
        return _refused(
            f"{count} {'results do' if count > 1 else 'result does'} not belong to the plan",
            collected.foreign,
            hint="use a results directory of its own for each plan",
        )
    if collected.twice:
        count = len({problem.message for problem in collected.twice})
        return _refused(
            f"{count} {'cells have' if count > 1 else 'cell has'} two results, and they differ",
            collected.twice,
            hint="merge the results of one run, in which each cell ran once",
        )
    if not collected.results:
        return Skipped("no cell ran: nothing was proved", hint="see which cells the plan holds: tsandbox matrix plan")
    if collected.missing:
        names = [cell.id for cell in collected.missing]
        return Skipped(
            f"{len(names)} planned {'cells have' if len(names) > 1 else 'cell has'} no result",
            details=_first(names),
            hint=f"run them: {again}",
        )
    return None


def _refused(message: str, problems: tuple[Problem, ...], *, hint: str) -> InvalidInput:
    error = InvalidInput(message, problems=problems, hint=hint)
    # The message counts them and names none: unlike with a recipe's faults, the first is a detail like the others.
    error.details = tuple(_first([str(problem) for problem in problems]))
    return error


def _first(lines: list[str]) -> list[str]:
    return [*lines[:_SHOWN], *([f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]
