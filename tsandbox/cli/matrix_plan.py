"""`tsandbox matrix plan`: every cell, every exclusion with its reason, the image of each, and the shards."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.matrix_inputs import FILE, Wanted, planned, selection_options
from tsandbox.cli.output import Output, examples, output_options, safe, write_file
from tsandbox.errors import UsageError
from tsandbox.matrix.model import MatrixPlan, write_matrix_plan
from tsandbox.report.words import duration, plural

FORMATS = ("text", "json", "ids", "shards")


@click.command(
    name="plan",
    epilog=examples(
        "tsandbox matrix plan recipes/ --family all                     what would run, what would not, and why",
        "tsandbox matrix plan recipes/ --max-jobs 256 --output plan.json   in as many shards as CI starts",
        "tsandbox matrix plan recipes/ --changed-since origin/main      only what a branch touches",
        "tsandbox matrix plan jq curl --format ids                      identifiers, for --only",
    ),
)
@click.argument("inputs", nargs=-1, required=True, metavar="RECIPE…", shell_complete=complete_recipes)
@selection_options
@click.option("--changed-since", metavar="REF", help="Only cells whose recipe, dependencies or tool changed since REF.")
@click.option("--shards", type=click.IntRange(1), metavar="N", help="Divide the cells among N machines.")
@click.option("--max-jobs", type=click.IntRange(1), metavar="N", help="As many shards as are useful, N at most.")
@click.option("--durations", type=FILE, metavar="FILE", help="Recorded durations, to balance the shards.")
@click.option("--output", "-o", "file", type=FILE, metavar="FILE", help="Write the plan here, for `matrix run`.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default text; shards: a CI job matrix.")
@output_options
@click.pass_obj
def plan(
    output: Output,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arches: tuple[str, ...],
    recipe_dirs: tuple[Path, ...],
    exclusion_files: tuple[Path, ...],
    changed_since: str | None,
    shards: int | None,
    max_jobs: int | None,
    durations: Path | None,
    file: Path | None,
    form: str | None,
) -> None:
    """Show all cells with their images, and what is left out and why.

    RECIPE is a recipe, a directory of them, or the name of a shipped one. A recipe that cannot be read is not left
    out: its cells fail when they are run.
    """
    if shards and max_jobs:
        raise UsageError("--shards and --max-jobs exclude each other")
    form = form or ("json" if output.json else "text")
    output.json = form in ("json", "shards")
    wanted = Wanted(inputs, families, arches, recipe_dirs, exclusion_files)
    made = planned(wanted, changed_since=changed_since, durations=durations, shards=shards, max_jobs=max_jobs)
    for warning in made.warnings:
        output.warn(safe(warning))
    if file:
        write_file(file, write_matrix_plan(made).decode())
    _show(made, form, output, brief=file is not None)


def _show(made: MatrixPlan, form: str, output: Output, *, brief: bool) -> None:
    match form:
        case "json":
            output.data(write_matrix_plan(made))
        case "shards":
            output.data(msgspec.json.encode(job_matrix(made)) + b"\n")
        case "ids":
            for cell in made.cells:
                output.say(safe(cell.id))
        case _:
            for line in [] if brief else _lines(made):
                output.say(line)
            for line in _summary(made):
                output.say(line)


def job_matrix(made: MatrixPlan) -> dict[str, object]:
    """What a CI system starts one job per entry of, `first` once per architecture; an empty plan has no entry."""
    first = {shard.arch: shard.number for shard in reversed(made.shards)}
    return {
        "include": [
            {
                "shard": shard.number,
                "of": len(made.shards),
                "arch": shard.arch,
                "cells": shard.cells,
                "first": first[shard.arch] == shard.number,
            }
            for shard in made.shards
        ]
    }


def _lines(made: MatrixPlan) -> Iterator[str]:
    names = [cell.id for cell in made.cells] + [cell.id for cell in made.excluded]
    width = max(map(len, names), default=0)
    many = len(made.shards) > 1
    for cell in made.cells:
        about = cell.image or click.style("cannot be planned: ", fg="red") + safe(
            cell.error.message if cell.error else ""
        )
        yield f"{click.style(safe(cell.id).ljust(width), bold=True)}  {about}{f'  shard {cell.shard}' * many}"
    if made.excluded:
        yield ""
    for excluded in made.excluded:
        who = excluded.owner or excluded.link
        until = f" ({who}, until {excluded.expires})" if who else ""
        yield click.style(safe(f"{excluded.id.ljust(width)}  left out: {excluded.reason}{until}"), dim=True)
    yield ""


def _summary(made: MatrixPlan) -> Iterator[str]:
    broken = sum(cell.error is not None for cell in made.cells)
    kinds = Counter(cell.kind for cell in made.excluded)
    left_out = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(kinds.items()))
    parts = [
        plural(len(made.cells), "cell"),
        plural(made.images(), "image"),
        *([f"{broken:,} cannot be planned and will fail"] if broken else []),
        f"{len(made.excluded):,} left out" + (f" ({left_out})" if left_out else ""),
    ]
    yield ", ".join(parts)
    if len(made.shards) > 1:
        costs = [shard.cost_ms for shard in made.shards]
        yield f"{len(made.shards)} shards of {duration(min(costs))} to {duration(max(costs))}"
