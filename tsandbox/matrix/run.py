"""Running a plan: results are written as they come and forgotten, so that thousands of cells need no more memory."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from tsandbox.errors import Interrupted, Skipped, UsageError
from tsandbox.matrix.attempts import is_temporary, unplannable
from tsandbox.matrix.model import Cell, MatrixPlan
from tsandbox.matrix.schedule import Schedule
from tsandbox.matrix.store import read_result, with_log, write_result
from tsandbox.matrix.workers import Ended, Events, Started
from tsandbox.recipe.near import did_you_mean
from tsandbox.report.result import Result, State
from tsandbox.report.run import BAD

# What one sandboxed installation may use by default: more at once than fit into memory would kill each other.
_CELL_MEMORY = 2 << 30

Execute = Callable[[Schedule], Events]


class Progress(Struct, frozen=True, kw_only=True):
    """Where a run stands; `result` is the one that just came in, `started` the cell that just began."""

    total: int
    done: int
    running: int
    counts: dict[State, int]
    hits: int
    eta_s: float | None = None
    result: Result | None = None
    started: str | None = None


class Summary(Struct, frozen=True, kw_only=True):
    total: int
    counts: dict[State, int]
    exit_codes: dict[int, int]
    resumed: int = 0
    builds: int = 0
    hits: int = 0
    interrupted: bool = False

    @property
    def not_run(self) -> int:
        return self.total - sum(self.counts.values())

    @property
    def exit_code(self) -> int:
        """0 only if every cell ran and none is bad; else the commonest code of the bad ones."""
        if self.interrupted:
            return Interrupted.exit_code
        bad = {code: count for code, count in self.exit_codes.items() if code}
        if bad:
            return min(bad, key=lambda code: (-bad[code], code))
        return Skipped.exit_code if self.not_run or not self.total else 0


def choose_cells(plan: MatrixPlan, *, only: Sequence[str] = (), shard: int | None = None) -> list[Cell]:
    """The cells to run here; a name that the plan does not hold is an error that says why, if it was left out."""
    cells = {cell.id: cell for cell in plan.cells}
    excluded = {cell.id: cell for cell in plan.excluded}
    for name in only:
        if name in excluded:
            raise UsageError(f"{name} is excluded: {excluded[name].reason}")
        if name not in cells:
            raise UsageError(f"the plan holds no cell {name!r}{did_you_mean(name, cells)}")
    chosen = [cells[name] for name in dict.fromkeys(only)] or list(plan.cells)
    return [cell for cell in chosen if shard is None or cell.shard == shard]


def default_jobs(meminfo: Path = Path("/proc/meminfo")) -> int:
    """As many as there are processors, and as fit into memory."""
    return max(1, min(len(os.sched_getaffinity(0)), _available(meminfo) // _CELL_MEMORY))


def _available(meminfo: Path) -> int:
    """What programs can still get. Free pages alone would count the cache of files as taken, which gives way."""
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text(encoding="utf-8").splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def run_cells(
    cells: Sequence[Cell],
    execute: Execute,
    directory: Path,
    *,
    resume: bool = False,
    fail_fast: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Summary:
    """Run what has no result yet; one file per cell is there when this returns, or when it is interrupted."""
    tally = _Tally(cells)
    kept = [result for cell in cells if (result := _known(directory, cell))] if resume else []
    for result in kept:
        tally.add(result)
    finished = {result.cell for result in kept}
    left = [cell for cell in cells if cell.id not in finished]
    schedule = Schedule([cell for cell in left if not cell.error])
    events = _chain((Ended(cell, unplannable(cell)) for cell in left if cell.error), schedule, execute)
    try:
        for event in events:
            if isinstance(event, Started):
                on_progress(tally.begin(event.cell))
                continue
            _heed_interrupt(event.result)
            result = with_log(directory, event.result, event.log)
            write_result(directory, result)
            on_progress(tally.end(event.cell, result))
            if fail_fast and result.state in BAD:
                schedule.stop()
    except KeyboardInterrupt:
        schedule.stop()
        return tally.summary(resumed=len(kept), interrupted=True)
    finally:
        # Also where a result cannot be written: what runs is ended first.
        events.close()
    return tally.summary(resumed=len(kept))


def _known(directory: Path, cell: Cell) -> Result | None:
    """What an earlier run found out; that network or engine failed says nothing about the cell."""
    result = read_result(directory, cell)
    return None if result is None or is_temporary(result) else result


def _heed_interrupt(result: Result) -> None:
    """An interrupted cell has no result: it is still to be run."""
    if result.exit_code == Interrupted.exit_code:
        raise KeyboardInterrupt


def _chain(known: Iterable[Ended], schedule: Schedule, execute: Execute) -> Events:
    for event in known:
        if schedule.stopped:
            return
        yield event
    if schedule.groups:
        yield from execute(schedule)


class _Tally:
    """Counts instead of results."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.total = len(cells)
        self.counts: Counter[State] = Counter()
        self.codes: Counter[int] = Counter()
        self.running: set[str] = set()
        self.hits = 0
        self.builds = 0
        self.left_ms = sum(cell.run_ms for cell in cells)
        self.done_ms = 0
        self.began = time.monotonic()

    def add(self, result: Result) -> None:
        self.counts[result.state] += 1
        self.codes[(result.exit_code or 1) if result.state in BAD else 0] += 1
        self.hits += result.cached is True
        self.builds += result.cached is False

    def begin(self, cell: Cell) -> Progress:
        self.running.add(cell.id)
        return self._progress(started=cell.id)

    def end(self, cell: Cell, result: Result) -> Progress:
        self.running.discard(cell.id)
        self.add(result)
        self.left_ms -= cell.run_ms
        self.done_ms += cell.run_ms
        return self._progress(result=result)

    def summary(self, *, resumed: int, interrupted: bool = False) -> Summary:
        return Summary(
            total=self.total,
            counts=dict(self.counts),
            exit_codes=dict(self.codes),
            resumed=resumed,
            builds=self.builds,
            hits=self.hits,
            interrupted=interrupted,
        )

    def _progress(self, *, result: Result | None = None, started: str | None = None) -> Progress:
        pace = (time.monotonic() - self.began) / self.done_ms if self.done_ms else None
        return Progress(
            total=self.total,
            done=sum(self.counts.values()),
            running=len(self.running),
            counts=dict(self.counts),
            hits=self.hits,
            eta_s=pace * self.left_ms if pace is not None else None,
            result=result,
            started=started,
        )
