"""`tsandbox sbom`: what an image holds."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.inputs import catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options, write_file
from tsandbox.errors import UsageError

if TYPE_CHECKING:
    from tsandbox.derive.spec import Profile
    from tsandbox.engine import Engine


@click.command(
    name="sbom",
    epilog=examples(
        "tsandbox sbom jq > jq.cdx.json                of a recipe's image, which is built if it is not there",
        "tsandbox sbom sandbox-cache:1c0ef430dad64c27  of an image",
        "tsandbox sbom runtime                         of a base",
    ),
)
@click.argument("name", metavar="IMAGE|RECIPE", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@click.option("--output", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file instead.")
@engine_option
@output_options
@click.pass_obj
def command(
    output: Output,
    name: str,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
    file: Path | None,
    engine: str | None,
) -> None:
    """Print what an image holds, as a CycloneDX SBOM.

    The packages are those of the database that the build left in the image. RECIPE is a recipe, a plan or the name of
    a recipe; `runtime` and `builder` are the bases.
    """
    from tsandbox.build.contents import packages_in
    from tsandbox.build.sbom import cyclonedx

    using = connected(engine)
    with interruptible():
        reference = _base(using, name, arch, output) or _image(using, name)
        if reference is None:
            reference = _built(using, name, families, arch, recipe_dirs, profile, output)
        image = using.image(reference)
        assert image is not None
        document = cyclonedx(reference, image, packages_in(using, reference)) + "\n"
    if file is None:
        output.data(document)
    else:
        write_file(file, document)


def _base(using: "Engine", name: str, arch: str | None, output: Output) -> str | None:
    from tsandbox.build import ensure_base
    from tsandbox.cli.build_many import shown
    from tsandbox.derive import bases
    from tsandbox.recipe.target import host_arch, normal_arch

    if name not in bases.MADE_HERE:
        return None
    wanted_arch = normal_arch(arch) if arch else host_arch()
    with shown(output) as watch:
        ensure_base(using, name, wanted_arch, watch=watch(using.name))
    return bases.base(name, wanted_arch).image


def _image(using: "Engine", name: str) -> str | None:
    """An image by its reference, or one of the cache by the beginning of its key."""
    from tsandbox.build.cache import choose as chosen
    from tsandbox.build.cache import entries
    from tsandbox.derive.key import REPOSITORY

    if Path(name).exists() or name.endswith((".toml", ".json")) or name == "-":
        return None
    if name.startswith((f"{REPOSITORY}:", "sha256:")):
        return chosen(entries(using), name).reference
    return name if ":" in name and using.image(name) is not None else None


def _built(
    using: "Engine",
    name: str,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
    output: Output,
) -> str:
    from tsandbox.build import ensure_image
    from tsandbox.cli.build_many import shown
    from tsandbox.derive import derive

    catalog = catalog_for([name], recipe_dirs)
    wanted, found = chosen_families(families), list(sources([name], catalog))
    if len(wanted) > 1 or len(found) != 1:
        raise UsageError("an SBOM is of one image: name one input and one family")
    chosen = choose(found[0], catalog, family=wanted[0], arch=arch, allow_missing=False)
    with shown(output) as watch:
        built = ensure_image(using, derive(chosen.plan, chosen.target, profile=profile), watch=watch(name))
    return built.reference
