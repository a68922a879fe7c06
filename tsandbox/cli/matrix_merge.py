"""`tsandbox matrix merge` and `report`: what all results together say."""

from pathlib import Path

import click

from tsandbox.cli.matrix_inputs import DIRECTORY, FILE
from tsandbox.cli.output import Output, examples, output_options, safe, write_file
from tsandbox.matrix.merge import gather, read_earlier, report_of, update_durations, write_merged
from tsandbox.matrix.store import incomplete
from tsandbox.report import Format, Report, render
from tsandbox.report.run import BAD, counts
from tsandbox.report.text import failure_lines, summary_lines

FORMATS: dict[Format, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "junit": (".xml",),
    "sarif": (".sarif",),
    "markdown": (".md",),
    "html": (".html", ".htm"),
}
PLAN_OPTION = click.option(
    "--plan", "plan_file", type=FILE, metavar="FILE", help="The plan that was run; by default the results' own copy."
)


@click.command(
    name="merge",
    short_help="Combine results, and say whether they prove the plan.",
    epilog=examples(
        "tsandbox matrix merge results                               did every planned cell run, and pass?",
        "tsandbox matrix merge shard-*/ --output all --durations durations.json",
        "tsandbox matrix merge results --plan plan.json              against the plan, not the copy in the results",
    ),
)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS…", type=DIRECTORY)
@PLAN_OPTION
@click.option("--output", "-o", "directory", type=DIRECTORY, metavar="DIR", help="Write all results here.")
@click.option("--durations", type=FILE, metavar="FILE", help="Record durations here, for the next plan.")
@click.option("--allow-skip", is_flag=True, help="A plan without any cell passes, as when nothing changed.")
@output_options
@click.pass_obj
def merge(
    output: Output,
    results: tuple[Path, ...],
    plan_file: Path | None,
    directory: Path | None,
    durations: Path | None,
    allow_skip: bool,
) -> int:
    """Combine results of several shards or machines, and say whether they prove the plan.

    Fails if a planned cell has no result, if a result belongs to no planned cell, if no cell ran, and if a cell is
    bad. Results and durations are written all the same, so that a report can show what is missing.
    """
    gathered = gather(results, plan_file)
    whole = directory or (results[0] if len(results) == 1 and not plan_file else None)
    if directory:
        write_merged(directory, gathered)
    if durations:
        update_durations(durations, gathered.collected.results)
    made = report_of(gathered)
    nothing_planned = not gathered.plan.cells and not gathered.collected.foreign
    if nothing_planned and allow_skip:
        output.warn("no cell was planned: nothing was proved")
    elif error := incomplete(gathered.collected, whole):
        if not output.json:
            _tell_bad(made, output)
        raise error
    code = 0 if nothing_planned and allow_skip else made.exit_code
    if output.json:
        counted, *_ = summary_lines(made)
        output.answer(code, status="skipped" if nothing_planned else None, why=counted, **_summary(made))
    _tell_bad(made, output)
    return code


@click.command(
    name="report",
    short_help="Show results for people, CI systems or programs.",
    epilog=examples(
        "tsandbox matrix report results                              what needs work, on the terminal",
        "tsandbox matrix report results --output report.html         one page, for a browser, without network",
        "tsandbox matrix report results --output junit.xml           for CI systems",
        "tsandbox matrix report results --format markdown >> $GITHUB_STEP_SUMMARY",
        "tsandbox matrix report results --earlier last-week/ --output report.html   with what changed",
    ),
)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS…", type=DIRECTORY)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="By default as the file ends, or text.")
@click.option("--output", "-o", "file", type=FILE, metavar="FILE", help="Write here instead of standard output.")
@PLAN_OPTION
@click.option(
    "--earlier",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Results, or a JSON report, of an earlier run to compare with.",
)
@click.option("--title", metavar="TEXT", help="The heading of the report.")
@output_options
@click.pass_obj
def report(
    output: Output,
    results: tuple[Path, ...],
    form: Format | None,
    file: Path | None,
    plan_file: Path | None,
    earlier: Path | None,
    title: str | None,
) -> None:
    """Show results in the form that people, CI systems or other programs read.

    A report of failures is written with success: whether the matrix passed is what `run` and `merge` say.
    """
    wanted = form or ("json" if output.json else _by_ending(file))
    made = report_of(gather(results, plan_file), title=title, earlier=read_earlier(earlier) if earlier else None)
    text = render(made, wanted)
    if file is None:
        output.data(text)
        return
    write_file(file, text)
    if output.json:
        output.answer(**_summary(made), report=str(file))
    output.progress(f"{file} written ({wanted})")


def _by_ending(file: Path | None) -> Format:
    ending = file.suffix.lower() if file else ""
    return next((form for form, endings in FORMATS.items() if ending in endings), "text")


def _summary(made: Report) -> dict[str, object]:
    bad = [result for result in made.results if result.state in BAD]
    return {
        "cells": len(made.results),
        "counts": counts(made.results),
        "missing": [cell.id for cell in made.missing],
        "excluded": len(made.excluded),
        "failed": [{"cell": each.cell, "exit_code": each.exit_code, "reproduce": each.reproduce} for each in bad],
    }


def _tell_bad(made: Report, output: Output) -> None:
    for result in made.results:
        if result.state in BAD:
            for line in failure_lines(result):
                output.say(safe(line))
            output.say()
    for line in summary_lines(made):
        output.say(safe(line))
