"""`tsandbox list`: the recipes there are, and the tools that are installed."""

from pathlib import Path

import click

from tsandbox.cli.inputs import recipes_option
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import InvalidInput
from tsandbox.plan import Catalog, load
from tsandbox.recipe import Recipe


@click.command(
    name="list",
    epilog=examples(
        "tsandbox list                       the shipped recipes",
        "tsandbox list --recipes registry/   another registry's, too",
        "tsandbox list --installed           tools installed on this host",
    ),
)
@recipes_option
@click.option("--installed", is_flag=True, help="List the tools installed on this host instead.")
@output_options
@click.pass_obj
def command(output: Output, recipe_dirs: tuple[Path, ...], installed: bool) -> None:
    """List recipes, or the tools installed on this host."""
    rows = _installed() if installed else _recipes(recipe_dirs)
    if output.json:
        output.answer(**{"tools" if installed else "recipes": rows})
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        about = row.get("description") or row.get("version") or row.get("error") or ""
        output.say(f"{click.style(safe(row['name']).ljust(width), bold=True)}  {safe(about)}")
    if not rows:
        output.say("no tools are installed" if installed else "no recipes")


def _recipes(recipe_dirs: tuple[Path, ...]) -> list[dict[str, str]]:
    rows = []
    for name, path in sorted(Catalog(recipe_dirs).names().items()):
        try:
            recipe = load(path)
        except InvalidInput as error:
            rows.append({"name": name, "source": str(path), "error": error.message})
            continue
        assert isinstance(recipe, Recipe)
        rows.append({"name": name, "source": str(path), "description": recipe.metadata.description})
    return rows


def _installed() -> list[dict[str, str]]:
    from tsandbox.sandbox.shelf import installed

    return [{"name": tool.name, "version": tool.version, "path": str(tool.path)} for tool in installed()]
