"""`tsandbox matrix run`: prove the cells of a plan, on this machine or on a cluster."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.inputs import chosen_families
from tsandbox.cli.matrix_inputs import DIRECTORY, Wanted, chosen_arches, planned, selection_options
from tsandbox.cli.matrix_progress import shown
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import UsageError
from tsandbox.matrix.model import Cell, MatrixPlan, read_matrix_plan
from tsandbox.recipe.target import ARCHES, FAMILIES
from tsandbox.report.result import Result
from tsandbox.report.run import BAD
from tsandbox.report.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from tsandbox.matrix.prove import SandboxProver
    from tsandbox.matrix.run import Execute, Progress, Summary

RESULTS = Path("tsandbox-results")
# A cell that is run again by itself must not take the place of a whole run's results.
RESULTS_OF_SOME = Path("tsandbox-results-only")


@click.command(
    name="run",
    short_help="Prove the cells of a plan, or of recipes.",
    epilog=examples(
        "tsandbox matrix run recipes/                                   plan and prove everything for debian",
        "tsandbox matrix run plan.json --shard 2/8 --results results    one of 8 machines",
        "tsandbox matrix run recipes/jq.toml --only jq-linux-debian-amd64   one cell, as in CI",
        "tsandbox matrix run --resume                                   go on where Ctrl-C ended it",
        "tsandbox matrix run plan.json --executor dask --scheduler tcp://10.0.0.1:8786",
    ),
)
@click.argument("inputs", nargs=-1, metavar="[PLAN | RECIPE…]", shell_complete=complete_recipes)
@selection_options
@click.option("--shard", metavar="I/N", help="Run the I-th of N parts.")
@click.option("--only", multiple=True, metavar="ID", help="Run only this cell; may be repeated.")
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N", help="At once; by default what the machine holds.")
@click.option("--fail-fast", is_flag=True, help="Start nothing more after the first bad cell.")
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="Tries after a failure of network or engine; never after one of the recipe.",
)
@click.option("--resume", is_flag=True, help="Keep what is known of these very cells; run the rest.")
@click.option("--results", type=DIRECTORY, metavar="DIR", help=f"Where results go. By default {RESULTS}.")
@click.option("--allow-skip", is_flag=True, help="Having no cell to run is no failure, as in an empty shard.")
@click.option("--yes", "-y", is_flag=True, help="Let recipes run commands of their own and reach the network.")
@engine_option
@click.option(
    "--executor", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="Where the cells run."
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask cluster, as in tcp://host:8786.")
@output_options
@click.pass_obj
def run(
    output: Output,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arches: tuple[str, ...],
    recipe_dirs: tuple[Path, ...],
    exclusion_files: tuple[Path, ...],
    shard: str | None,
    only: tuple[str, ...],
    jobs: int | None,
    fail_fast: bool,
    retries: int,
    resume: bool,
    results: Path | None,
    allow_skip: bool,
    yes: bool,
    engine: str | None,
    executor: str,
    scheduler: str | None,
) -> int:
    """Prove the cells of PLAN (from `matrix plan --output`), or of recipes.

    Ends with 0 only if every cell ran and passed; else with the commonest exit code of the bad ones. A cell that
    passed after a failure of network or engine is flaky, which is told and does not fail the run.
    """
    from tsandbox.matrix.run import choose_cells, run_cells
    from tsandbox.matrix.store import begin

    if (executor == "dask") != (scheduler is not None):
        raise UsageError("--executor dask and --scheduler ADDRESS go together")
    directory = results or (RESULTS_OF_SOME if only else RESULTS)
    wanted = Wanted(inputs, families, arches, recipe_dirs, exclusion_files)
    plan = _plan(wanted, only, directory)
    for warning in plan.warnings:
        output.warn(safe(warning))
    part, number = _part(plan, shard, wanted, output)
    cells = choose_cells(part, only=only, shard=number)
    prover = partial(prover_for, engine, yes=yes, check=scheduler is None)
    execute = _executor(cells, prover, jobs=jobs, retries=retries, scheduler=scheduler)
    begin(directory, plan, cells, resume=resume)
    if scheduler is None:
        _warn_of_silent_registry(output)
    bad: list[Result] = []
    # CI systems cancel with TERM what Ctrl-C ends on a terminal: what runs is stopped and removed.
    with interruptible(), shown(output, len(cells)) as show:
        summary = run_cells(
            cells, execute, directory, resume=resume, fail_fast=fail_fast, on_progress=_noting(bad, show)
        )
    code = 0 if allow_skip and not cells else summary.exit_code
    _tell(summary, code, bad, directory, output)
    return code


def _plan(wanted: Wanted, only: tuple[str, ...], directory: Path) -> MatrixPlan:
    from tsandbox.matrix.store import PLAN_NAME

    inputs = wanted.inputs
    made = Path(inputs[0]) if len(inputs) == 1 and inputs[0].endswith(".json") else None
    if inputs and made is None:
        return planned(wanted, only=only)
    if made is None and (directory / PLAN_NAME).is_file():
        made = directory / PLAN_NAME
    if made and (wanted.recipe_dirs or wanted.exclusion_files):
        raise UsageError(f"{made} is planned already: --recipes and --exclusions belong to `tsandbox matrix plan`")
    if made:
        return read_matrix_plan(made)
    raise UsageError(
        "nothing to run: name a plan or recipes",
        hint=f"tsandbox matrix run recipes/; without a name the plan in {directory} is run, and there is none",
    )


def _part(plan: MatrixPlan, shard: str | None, wanted: Wanted, output: Output) -> tuple[MatrixPlan, int | None]:
    """The cells of the families and architectures that were asked for, in as many shards as were asked for."""
    from tsandbox.matrix.assemble import shard_again

    if wanted.families or wanted.arches:
        families = chosen_families(wanted.families) if wanted.families else FAMILIES
        arches = chosen_arches(wanted.arches) if wanted.arches else ARCHES
        cells = (cell for cell in plan.cells if cell.target.linux_family in families and cell.target.arch in arches)
        plan = msgspec.structs.replace(plan, cells=tuple(cells), shards=())
    if shard is None:
        return plan, None
    number, _, count = shard.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"--shard {shard}: expected I/N with 1 ≤ I ≤ N, as in 2/8")
    # A plan that nobody asked shards of has one per architecture, and deals its cells here for the first time.
    if len(plan.shards) not in (int(count), len({each.arch for each in plan.shards})):
        output.warn(
            f"--shard {shard}: the plan has {len(plan.shards)} shards, so its cells are dealt anew; "
            f"every machine must ask for a part of {int(count)}"
        )
    return shard_again(plan, int(count)), int(number)


def _executor(
    cells: list[Cell], prover: "Callable[[], SandboxProver]", *, jobs: int | None, retries: int, scheduler: str | None
) -> "Execute":
    from tsandbox.matrix.run import default_jobs
    from tsandbox.matrix.workers import run_local

    if all(cell.error for cell in cells):
        # Nothing to prove needs no sandbox, and no engine.
        return lambda _: (_ for _ in ())
    prove = prover()
    if scheduler:
        from tsandbox.matrix.cluster import on_dask

        return on_dask(prove, scheduler=scheduler, retries=retries)
    return lambda schedule: run_local(schedule, prove, jobs=jobs or default_jobs(), retries=retries)


def prover_for(engine: str | None, *, yes: bool, check: bool) -> "SandboxProver":
    """What proves a cell. That there is no engine is told once and here, not once per cell; elsewhere it may be."""
    from tsandbox.matrix.prove import SandboxProver

    if check:
        connected(engine)
    return SandboxProver(engine=engine, yes=yes)


def _warn_of_silent_registry(output: Output) -> None:
    """Told once and here; each worker finds it out again, and builds for itself."""
    from tsandbox.build.registry import registry
    from tsandbox.build.registry_alive import alive

    if (shared := registry()) and (why := alive(shared.host)):
        output.warn(safe(f"the registry {shared.reference} does not answer ({why}): images are built here instead"))


def _noting(bad: list[Result], show: "Callable[[Progress], None]") -> "Callable[[Progress], None]":
    def note(progress: "Progress") -> None:
        result = progress.result
        if result is not None and result.state in BAD:
            # Without its output: thousands of bad cells must not fill the memory.
            bad.append(msgspec.structs.replace(result, install=None, verify=None, log_head=(), log_tail=()))
        show(progress)

    return note


def _tell(summary: "Summary", code: int, bad: list[Result], directory: Path, output: Output) -> None:
    if output.json:
        _answer(summary, code, bad, directory, output)
    output.say(_counted(summary))
    output.say(f"{plural(summary.builds, 'image')} built, {plural(summary.hits, 'cache hit')}; results in {directory}")
    if summary.interrupted:
        output.say(f"interrupted; go on with: tsandbox matrix run --resume --results {directory}")
    elif summary.resumed and summary.exit_code:
        output.say(f"what was kept is shown by: tsandbox matrix report {directory}")
    elif not summary.total:
        output.warn("no cell ran: nothing was proved")


def _counted(summary: "Summary") -> str:
    counted = ", ".join(f"{count:,} {state}" for state, count in sorted(summary.counts.items())) or "none ran"
    not_run = f", {summary.not_run:,} not run" if summary.not_run else ""
    resumed = f" ({summary.resumed:,} kept from before)" if summary.resumed else ""
    return f"{plural(summary.total, 'cell')}: {counted}{not_run}{resumed}"


def _answer(summary: "Summary", code: int, bad: list[Result], directory: Path, output: Output) -> None:
    output.answer(
        code,
        # Allowed or not, what proved nothing did not pass.
        status=None if summary.total else "skipped",
        why=_counted(summary),
        cells=summary.total,
        counts=summary.counts,
        not_run=summary.not_run,
        resumed=summary.resumed,
        builds=summary.builds,
        cache_hits=summary.hits,
        interrupted=summary.interrupted,
        results=str(directory),
        failed=[{"cell": each.cell, "exit_code": each.exit_code, "reproduce": each.reproduce} for each in bad],
    )
