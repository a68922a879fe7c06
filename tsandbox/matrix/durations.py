"""How long cells took, so that the next plan can balance its shards."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tsandbox.errors import InvalidInput
from tsandbox.matrix.model import Cell
from tsandbox.report.result import Result

# Before anything is recorded.
_RUN_MS = 5_000
_BUILD_MS = 20_000


class Duration(Struct, frozen=True, kw_only=True):
    run_ms: int
    # Unknown where the cell only ever met a cache hit.
    build_ms: int | None = None


class Durations(Struct, frozen=True, kw_only=True):
    cells: dict[str, Duration] = {}
    schema: int = 1


def read_durations(path: Path) -> Durations:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Durations)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInput(
            f"{path}: the recorded durations cannot be read: {error}",
            file=str(path),
            hint="they are written by tsandbox matrix merge --durations FILE",
        ) from None


def record(results: Iterable[Result], earlier: Durations) -> Durations:
    """The newest numbers; a build that was not needed this time keeps its earlier one."""
    cells = dict(earlier.cells)
    for result in results:
        if not result.cell or result.state not in ("passed", "flaky", "failed"):
            continue
        before = cells.get(result.cell)
        build = result.build_ms if result.build_ms is not None else before.build_ms if before else None
        run = max(0, result.duration_ms - (result.build_ms or 0))
        cells[result.cell] = Duration(run_ms=run, build_ms=build)
    return Durations(cells=dict(sorted(cells.items())))


def with_costs(cells: Iterable[Cell], durations: Durations) -> list[Cell]:
    """Cells with what they will probably take; the unknown ones get the middle of the known."""
    known = durations.cells.values()
    run = round(median([entry.run_ms for entry in known])) if known else _RUN_MS
    builds = [entry.build_ms for entry in known if entry.build_ms is not None]
    build = round(median(builds)) if builds else _BUILD_MS
    default = Duration(run_ms=run, build_ms=build)
    return [_with_cost(cell, durations.cells.get(cell.id, default), build) for cell in cells]


def _with_cost(cell: Cell, entry: Duration, build: int) -> Cell:
    if cell.error:
        return cell
    return replace(cell, run_ms=entry.run_ms, build_ms=build if entry.build_ms is None else entry.build_ms)
