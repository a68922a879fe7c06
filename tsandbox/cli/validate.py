"""`tsandbox validate`: what is wrong with recipes and plans, and what will hurt one day."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.inputs import catalog_for, recipes_option, sources
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import InvalidInput
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source, Text, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsandbox.recipe.lint import Finding
    from tsandbox.report.validation import FileReport

_COLOURS = {"error": "red", "warning": "yellow"}


@click.command(
    name="validate",
    epilog=examples(
        "tsandbox validate recipes/                          every recipe and plan below",
        "tsandbox validate my.toml --strict                  warnings count as errors",
        "tsandbox validate recipes/ --format sarif > v.sarif   for a code host",
        'in a recipe:  [lint] ignore = { TS001 = "why" }     silences one rule in that file',
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", shell_complete=complete_recipes)
@recipes_option
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), help="By default text.")
@click.option("--strict", is_flag=True, help="End with exit code 3 for warnings, too.")
@output_options
@click.pass_obj
def command(
    output: Output, paths: tuple[str, ...], recipe_dirs: tuple[Path, ...], form: str | None, strict: bool
) -> int:
    """Check recipes and plans, and warn about what will hurt.

    PATH is a recipe, a plan, a directory of them, `-` for standard input, or the name of a recipe. Findings have
    stable ids; a recipe silences one by id, with a reason. --verbose shows silenced ones as well.
    """
    from tsandbox.report.validation import as_json, as_sarif, count, exit_code

    form = "json" if output.json and form in (None, "text") else form or "text"
    output.json = form != "text"
    files = []
    for file in _check_all(paths, catalog_for(paths, recipe_dirs)):
        files.append(file)
        if form == "text":
            _tell(file, output)
    counts = count(files)
    if form == "json":
        output.data(as_json(files, strict=strict))
    elif form == "sarif":
        output.data(as_sarif(files))
    output.progress(str(counts))
    return exit_code(counts, strict=strict)


def _check_all(paths: tuple[str, ...], catalog: Catalog) -> "Iterator[FileReport]":
    """Each file as soon as it is checked; a path that leads nowhere stops no other."""
    for path in paths:
        try:
            for source in sources([path], catalog):
                yield _check(source, catalog)
        except InvalidInput as error:
            yield _unreadable(error, path)


def _check(source: Source, catalog: Catalog) -> "FileReport":
    try:
        text = read_text(source)
    except InvalidInput as error:
        return _unreadable(error, source.name)
    return _check_recipe(text, catalog) if text.kind == "recipe" else _check_plan(text)


def _check_recipe(text: Text, catalog: Catalog) -> "FileReport":
    from tsandbox.recipe.lint import check_text
    from tsandbox.report.validation import FileReport

    checked = check_text(text.text, text.file, lambda name: _knows(catalog, name))
    needed = checked.recipe.dependencies if checked.recipe else ()
    return FileReport(
        file=text.file,
        kind="recipe",
        tool=checked.recipe.name if checked.recipe else None,
        findings=checked.findings,
        missing_dependencies=tuple(name for name in needed if not _knows(catalog, name)),
    )


def _knows(catalog: Catalog, name: str) -> bool:
    # By its name alone: that another recipe is itself invalid is told where that file is checked.
    return name in catalog.names() or name.partition("@")[0] in catalog.names()


def _check_plan(text: Text) -> "FileReport":
    from tsandbox.plan.read import read_plan
    from tsandbox.recipe.lint import load_findings
    from tsandbox.report.validation import FileReport

    try:
        plan = read_plan(text.text, text.file)
    except InvalidInput as error:
        return FileReport(file=text.file, kind="plan", findings=load_findings(error, text.file))
    return FileReport(file=text.file, kind="plan", tool=plan.tool)


def _unreadable(error: InvalidInput, file: str) -> "FileReport":
    from tsandbox.recipe.lint import load_findings
    from tsandbox.report.validation import FileReport

    return FileReport(file=error.file or file, findings=load_findings(error, file))


def _tell(file: "FileReport", output: Output) -> None:
    for finding in file.findings:
        if finding.silenced is None:
            output.say(_line(finding))
        else:
            output.detail(f"{safe(finding)} (silenced: {safe(finding.silenced)})")


def _line(finding: "Finding") -> str:
    """The finding as compilers write theirs, so that editors find the place."""
    word = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
    return safe(finding).replace(f" {finding.severity}: ", f" {word}: ", 1)
