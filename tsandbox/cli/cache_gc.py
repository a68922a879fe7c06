"""`tsandbox cache gc`: remove what nobody needs."""

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.inputs import catalog_for, choose, recipes_option, sources
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.cli.quantities import duration, size
from tsandbox.errors import InvalidInput, NotSupported, UsageError
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsandbox.derive.spec import Profile

_PROFILES: "tuple[Profile, ...]" = ("minimal", "full")


@click.command(
    name="gc",
    epilog=examples(
        "tsandbox cache gc --older-than 30d                 what was not used for a month",
        "tsandbox cache gc --max-size 5G --dry-run          what would go, least recently used first",
        "tsandbox cache gc --keep-reachable recipes/        all but the images of these recipes",
    ),
)
@click.option("--max-size", type=size, metavar="SIZE", help="Keep at most so much, such as 5G; bases count once.")
@click.option("--older-than", type=duration, metavar="AGE", help="Remove what was not used for so long, such as 30d.")
@click.option(
    "--keep-reachable",
    "reachable",
    multiple=True,
    metavar="INPUT",
    help="Keep the images of these recipes, plans or directories, for all families; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@recipes_option
@engine_option
@output_options
@click.pass_obj
def gc(
    output: Output,
    max_size: int | None,
    older_than: float | None,
    reachable: tuple[str, ...],
    dry_run: bool,
    recipe_dirs: tuple[Path, ...],
    engine: str | None,
) -> None:
    """Remove images, least recently used first.

    Only images with tsandbox's labels under its names go, and bases and packages that none of them needs any more.
    """
    from tsandbox.build.collect import Limits, collect

    if max_size is None and older_than is None and not reachable:
        raise UsageError(
            "nothing says what may go", hint="--max-size 5G, --older-than 30d, --keep-reachable recipes/, or several"
        )
    keys = _keys(reachable, recipe_dirs, output) if reachable else None
    limits = Limits(max_size=max_size, older_than=older_than, reachable=keys)
    with interruptible():
        removed = collect(connected(engine), limits, dry_run=dry_run)
    freed = sum(each.size for each in removed if each.kept is None)
    if output.json:
        output.answer(dry_run=dry_run, freed=freed, removed=removed)
        return
    from tsandbox.report.words import size as shown

    for each in removed:
        what = f"{safe(each.what)}  {safe(each.tool)}".rstrip()
        output.say(f"{what}  {shown(each.size)}  " + (f"kept: {safe(each.kept)}" if each.kept else each.why))
    output.say(f"{'would free' if dry_run else 'freed'} {shown(freed)}")


def _keys(names: tuple[str, ...], recipe_dirs: tuple[Path, ...], output: Output) -> frozenset[str]:
    """The keys of all images that these inputs can ask for: every family and profile, on any architecture."""
    catalog = catalog_for(names, recipe_dirs)
    try:
        keys = frozenset(key for source in sources(names, catalog) for key in _keys_of(source, catalog))
    except InvalidInput as error:
        # Its images cannot be told, so none of them could be kept.
        raise UsageError(
            f"--keep-reachable: {error.message}", hint="correct it first, or leave it out", file=error.file
        ) from error
    output.detail(f"{len(keys)} images are reachable")
    return keys


def _keys_of(source: Source, catalog: Catalog) -> "Iterator[str]":
    from tsandbox.derive import derive, image_key
    from tsandbox.recipe.target import ARCHES, FAMILIES

    for family, arch, profile in product(FAMILIES, ARCHES, _PROFILES):
        with suppress(NotSupported):
            chosen = choose(source, catalog, family=family, arch=arch, allow_missing=True)
            yield image_key(derive(chosen.plan, chosen.target, profile=profile))
