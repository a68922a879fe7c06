"""`tsandbox plan`: from a recipe to the plan that others execute."""

from pathlib import Path

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.inputs import catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options
from tsandbox.errors import UsageError
from tsandbox.plan.target import refuse_unsupported


@click.command(
    name="plan",
    epilog=examples(
        "tsandbox plan jq > jq.json                    the plan for debian on this machine's architecture",
        "tsandbox plan my.toml@1.2 --family alpine     another version, another family",
        "tsandbox plan my.toml --recipes ../registry   dependencies from another registry",
        "tsandbox plan ripgrep --resolve               with versions, addresses and checksums filled in",
    ),
)
@click.argument("recipe", metavar="RECIPE", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--version", "version", metavar="VERSION", help="Plan this version; RECIPE@VERSION does the same.")
@click.option("--resolve", is_flag=True, help="Ask registries for versions and checksums, and write them down.")
@click.option("--offline", is_flag=True, help="With --resolve: use only what is already downloaded.")
@output_options
@click.pass_obj
def command(
    output: Output,
    recipe: str,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    version: str | None,
    resolve: bool,
    offline: bool,
) -> None:
    """Write the installation plan of RECIPE, with those of its dependencies, as JSON."""
    from tsandbox.plan.write import write_plan

    catalog = catalog_for([recipe], recipe_dirs)
    wanted = chosen_families(families)
    if len(wanted) > 1:
        raise UsageError("a plan is for one family", hint="run the command once per family")
    found = list(sources([recipe], catalog))
    if len(found) != 1:
        raise UsageError(f"{recipe}: a plan is made from one recipe, not from a directory")
    [source] = found
    if version:
        source = source._replace(version=version)
    chosen = choose(source, catalog, family=wanted[0], arch=arch, allow_missing=False, only="recipe")
    plan = chosen.plan
    refuse_unsupported(plan, chosen.target)
    if resolve:
        from tsandbox.sandbox.resolve import resolve as fill_in

        plan = fill_in(plan, offline=offline, on_progress=output.progress)
    output.data(write_plan(plan))
