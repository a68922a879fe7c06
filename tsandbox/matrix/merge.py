"""Results of one or many machines brought together: one directory, one report, and durations for the next plan."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox.errors import InvalidInput
from tsandbox.matrix.durations import Durations, read_durations, record
from tsandbox.matrix.model import MatrixPlan, read_matrix_plan
from tsandbox.matrix.store import Collected, collect, copy_result, find_plan, result_files, write_plan_copy
from tsandbox.report.result import Result, decode
from tsandbox.report.run import Earlier, Report, earlier_of
from tsandbox.report.whole import Whole


class Gathered(Struct, frozen=True, kw_only=True):
    plan: MatrixPlan
    collected: Collected


def gather(directories: Sequence[Path], plan_file: Path | None = None) -> Gathered:
    plan = read_matrix_plan(plan_file) if plan_file else find_plan(directories)
    return Gathered(plan=plan, collected=collect(plan, directories))


def report_of(gathered: Gathered, *, title: str | None = None, earlier: dict[str, Earlier] | None = None) -> Report:
    collected = gathered.collected
    began = [result.started for result in collected.results if result.started is not None]
    made = Report(
        results=collected.results,
        excluded=gathered.plan.excluded,
        missing=collected.missing,
        version=gathered.plan.version or None,
        started=min(began, default=None),
        earlier=earlier,
    )
    return msgspec.structs.replace(made, title=title) if title else made


def write_merged(directory: Path, gathered: Gathered) -> None:
    """Everything in one directory, as if one machine had run it."""
    write_plan_copy(directory, gathered.plan)
    for path in gathered.collected.files:
        copy_result(directory, path)


def update_durations(path: Path, results: Iterable[Result]) -> None:
    """The file with the newest numbers; it is written anew, and a reader never sees half of it."""
    known = read_durations(path) if path.exists() else Durations()
    partial = path.with_name(f".{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(record(results, known)), indent=1) + b"\n")
    partial.replace(path)


def read_earlier(path: Path) -> dict[str, Earlier]:
    """What an earlier run said: its results directory, or its report in JSON."""
    if path.is_dir():
        return earlier_of(decode(file.read_bytes(), source=str(file)) for file in result_files([path]))
    try:
        return earlier_of(msgspec.json.decode(path.read_bytes(), type=Whole).results)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", file=str(path)) from None
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"{path}: not a report in JSON: {error}",
            file=str(path),
            hint="name a results directory, or what `tsandbox matrix report --format json` wrote",
        ) from None
