"""How the matrix grows: 100 … 50,000 cells through real planning, sharding, merging and reporting; the run is fake.

Every stage is a process of its own, as on a command line, so that its memory can be told.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

from benchmarks.measure import Measure
from tsandbox.matrix.attempts import finished
from tsandbox.matrix.merge import gather, report_of, update_durations, write_merged
from tsandbox.matrix.model import Cell, read_matrix_plan
from tsandbox.matrix.run import run_cells
from tsandbox.matrix.schedule import Schedule
from tsandbox.matrix.store import begin, incomplete
from tsandbox.matrix.workers import Ended, Events, Started
from tsandbox.report import render
from tsandbox.report.result import Check, ErrorRecord, InstallRecord, Result, StepRecord, VerifyRecord

SIZES = (100, 1_000, 10_000, 50_000)
# Of the largest, all stages together.
MOST_SECONDS = 60.0
MOST_MEGABYTES = 1000.0
# Twice the cells may take a little more than twice the time: caches of the processor are no larger for them.
LINEAR = 1.5

# All families on both architectures, without the one for which there is no base: arch on arm64.
_TARGETS = 9
_SHARDS = 256
_SAME_IMAGE = 4
_RECIPE = """\
[metadata]
name = "tool-{number:05}"
description = "Tool number {number}"

[[steps]]
action = "require_system"
command = "tool"
packages = {{ apt = ["{image}"], dnf = ["{image}"], pacman = ["{image}"], apk = ["{image}"], zypper = ["{image}"] }}

[verify]
command = "tool --version"
pattern = "{number}"
"""


class Stage(NamedTuple):
    """Seconds of the processor: what else goes on on a machine, and how busy its disk is, is not ours to judge."""

    name: str
    seconds: float
    waited: float
    megabytes: float


def run() -> Iterator[Measure]:
    largest: list[Stage] = []
    per_cell: dict[int, float] = {}
    for cells in SIZES:
        stages = _stages(cells)
        seconds = sum(stage.seconds for stage in stages)
        peak = max(stage.megabytes for stage in stages)
        per_cell[cells] = seconds / cells
        waited = sum(stage.waited for stage in stages)
        parts = ", ".join(f"{stage.name} {stage.seconds:.1f} s {stage.megabytes:.0f} MB" for stage in stages)
        note = f"{waited:.1f} s on the clock: {parts}"
        yield Measure(f"{cells:,} cells, memory {peak:.0f} MB", seconds, unit="s", note=note)
        largest = stages
    ratio = per_cell[SIZES[-1]] / per_cell[SIZES[-2]]
    yield Measure(f"time per cell, {SIZES[-1]:,} against {SIZES[-2]:,} cells", ratio, limit=LINEAR)
    total = sum(stage.seconds for stage in largest)
    yield Measure(f"{SIZES[-1]:,} cells, all stages", total, unit="s", limit=MOST_SECONDS)
    peak = max(stage.megabytes for stage in largest)
    yield Measure(f"{SIZES[-1]:,} cells, the largest stage", peak, unit="MB", limit=MOST_MEGABYTES)


def _stages(cells: int) -> list[Stage]:
    with tempfile.TemporaryDirectory() as directory:
        _write_recipes(Path(directory, "recipes"), -(-cells // _TARGETS))
        return [_measured(name, directory) for name in STAGES]


def _write_recipes(directory: Path, count: int) -> None:
    directory.mkdir()
    for number in range(count):
        text = _RECIPE.format(number=number, image=f"lib{number // _SAME_IMAGE}")
        (directory / f"tool-{number:05}.toml").write_text(text, encoding="utf-8")


def _measured(name: str, directory: str) -> Stage:
    argv = [sys.executable, "-m", "benchmarks.matrix", name, directory]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return Stage(name, *json.loads(done.stdout.splitlines()[-1]))


def _plan(directory: Path) -> None:
    from tsandbox.cli.entry import cli

    argv = ["matrix", "plan", "recipes", "--family=all", "--arch=all", f"--max-jobs={_SHARDS}", "--output=plan.json"]
    cli.main(argv, standalone_mode=False)
    made = read_matrix_plan(directory / "plan.json")
    assert made.images() * _SAME_IMAGE >= len(made.cells) > made.images()


def _run(directory: Path) -> None:
    plan = read_matrix_plan(directory / "plan.json")
    begin(directory / "results", plan, plan.cells, resume=False)
    summary = run_cells(plan.cells, _fake, directory / "results")
    assert summary.not_run == 0


def _fake(schedule: Schedule) -> Events:
    """Passes nearly everything at once; what it says of a cell is as long as what real ones say."""
    while cell := schedule.take():
        yield Started(cell)
        result = finished(cell, _result(cell))
        yield Ended(cell, result)
        yield from (Ended(*each) for each in schedule.ended(cell, result))


def _result(cell: Cell) -> Result:
    bad = cell.tool.endswith("7") and cell.target.linux_family == "suse"
    lines = tuple(f"line {number} of what a tool says while it is installed" for number in range(30))
    return Result(
        status="failed" if bad else "passed",
        exit_code=8 if bad else 0,
        stage="verify",
        cached=True,
        duration_ms=1000,
        image_size=30_000_000,
        started=1_790_000_000.0,
        install=InstallRecord(
            steps=tuple(StepRecord(number=n, action="require_system", status="passed", line=5) for n in range(3))
        ),
        verify=VerifyRecord(command="tool --version", ok=not bad, additional=(Check(command="tool", ok=True),)),
        error=ErrorRecord(type="VerifyFailed", message="did not print it", line=9) if bad else None,
        log_head=lines,
        log_tail=lines,
    )


def _merge(directory: Path) -> None:
    gathered = gather([directory / "results"])
    assert incomplete(gathered.collected) is None
    write_merged(directory / "all", gathered)
    update_durations(directory / "durations.json", gathered.collected.results)


def _report(form: str) -> Callable[[Path], None]:
    def report(directory: Path) -> None:
        text = render(report_of(gather([directory / "all"])), form)  # type: ignore[arg-type]
        (directory / f"report.{form}").write_text(text, encoding="utf-8")

    return report


STAGES: dict[str, Callable[[Path], None]] = {
    "plan": _plan,
    "run": _run,
    "merge": _merge,
    "html": _report("html"),
    "junit": _report("junit"),
    "markdown": _report("markdown"),
}


def _main(name: str, directory: str) -> None:
    import os

    os.chdir(directory)
    began = time.perf_counter()
    STAGES[name](Path(directory))
    took = time.perf_counter() - began
    print(json.dumps([time.process_time(), took, getrusage(RUSAGE_SELF).ru_maxrss / 1000]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
