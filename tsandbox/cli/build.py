"""`tsandbox build`: from inputs to images."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import chosen_engine, engine_option, interruptible
from tsandbox.cli.inputs import catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options
from tsandbox.cli.quantities import duration
from tsandbox.errors import TsandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsandbox.build import BuildOptions
    from tsandbox.cli.build_many import Wanted
    from tsandbox.derive.spec import Profile


@click.command(
    name="build",
    epilog=examples(
        "tsandbox build jq                       the image of a shipped recipe, or the cached one",
        "tsandbox build recipes/ --jobs 4        many, in parallel, each distinct image once",
        "tsandbox build my.toml --max-age 7d     packages at most a week old",
        "tsandbox build jq --refresh all         new base, new packages",
        "tsandbox build plan.json --profile full --json",
    ),
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT…", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@click.option("--no-cache", is_flag=True, help="Build even if the image is there.")
@click.option(
    "--refresh",
    type=click.Choice(["base", "packages", "all"]),
    help="Take the base, the packages or both from the archive of today.",
)
@click.option("--max-age", type=duration, metavar="AGE", help="Build anew what is older, such as 7d.")
@click.option("--timeout", type=duration, metavar="TIME", default=1800.0, help="For one build; by default 30m.")
@click.option("--jobs", "-j", type=click.IntRange(1), metavar="N", help="Builds at a time; by default one per core.")
@engine_option
@output_options
@click.pass_obj
def command(
    output: Output,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
    no_cache: bool,
    refresh: str | None,
    max_age: float | None,
    timeout: float,
    jobs: int | None,
    engine: str | None,
) -> int:
    """Build the image of a recipe, or reuse it.

    INPUT is a recipe, a plan, a directory of them, `-` for standard input, or the name of a recipe.
    """
    from tsandbox.build import BuildOptions
    from tsandbox.cli import build_many

    if refresh in {"base", "all"}:
        from tsandbox.build.refresh import move_epoch

        output.progress(f"the bases now stand for {move_epoch()}")
    options = BuildOptions(no_cache=no_cache or refresh in {"packages", "all"}, max_age=max_age, timeout=timeout)
    wanted = list(_wanted(inputs, families, arch, recipe_dirs, profile))
    if len(wanted) == 1:
        return _one(wanted[0], options, engine, output)
    with interruptible():
        return build_many.build_all(chosen_engine(engine), wanted, options, jobs, output)


def _wanted(
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
) -> "Iterator[Wanted]":
    """A spec, or what is wrong, per input and family: one bad recipe stops no other."""
    from tsandbox.cli.build_many import Wanted
    from tsandbox.derive import derive

    catalog = catalog_for(inputs, recipe_dirs)
    for name in inputs:
        try:
            found = list(sources([name], catalog))
        except TsandboxError as error:
            yield Wanted(name, error)
            continue
        for source, family in product(found, chosen_families(families)):
            try:
                chosen = choose(source, catalog, family=family, arch=arch, allow_missing=False)
                yield Wanted(source.name, derive(chosen.plan, chosen.target, profile=profile))
            except TsandboxError as error:
                yield Wanted(source.name, error)


def _one(wanted: "Wanted", options: "BuildOptions", engine: str | None, output: Output) -> int:
    from tsandbox.build import ensure_image
    from tsandbox.cli import build_many
    from tsandbox.cli.entry import report

    spec = wanted.spec
    if isinstance(spec, TsandboxError):
        raise spec
    try:
        with interruptible(), build_many.shown(output) as watch:
            built = ensure_image(chosen_engine(engine), spec, options, watch=watch(spec.tool))
    except TsandboxError as error:
        return report(error, output, tool=spec.tool, target=spec.target)
    build_many.tell(spec, built, output)
    return 0
