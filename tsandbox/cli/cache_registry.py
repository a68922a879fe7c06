"""`tsandbox cache push` and `pull`: the cache shared through a registry."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import connected, engine_option, interruptible
from tsandbox.cli.inputs import catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import UsageError

if TYPE_CHECKING:
    from tsandbox.build.registry import Registry

registry_option = click.option(
    "--registry", metavar="REF", help="host[:port][/path]; by default TSANDBOX_REGISTRY. The engine's login is used."
)


@click.command(
    name="push",
    short_help="Give images to a registry, for other machines.",
    epilog=examples(
        "tsandbox cache push jq --registry registry.example.com/team",
        "TSANDBOX_REGISTRY=registry.example.com/team tsandbox cache push      all images of the cache",
    ),
)
@click.argument("keys", nargs=-1, metavar="[KEY…]")
@registry_option
@engine_option
@output_options
@click.pass_obj
def push(output: Output, keys: tuple[str, ...], registry: str | None, engine: str | None) -> None:
    """Give images to a registry, for other machines to pull instead of build.

    KEY is a key, the beginning of one, a tag, or the name of a tool that has one image. Without KEY, all are pushed.
    """
    from tsandbox.build import registry as room
    from tsandbox.build.cache import choose as chosen
    from tsandbox.build.cache import entries

    shared = _shared(registry)
    using = connected(engine)
    found = entries(using)
    wanted = [chosen(found, key) for key in keys] or found
    done = []
    with interruptible():
        for entry in wanted:
            digest = room.push(using, entry.key, shared)
            done.append({"image": entry.reference, "key": entry.key, "tool": entry.tool, "digest": digest})
            output.progress(f"{safe(entry.tool)} {entry.reference} → {shared.name_of(entry.key)}")
    _tell(output, shared, done, f"{len(done)} pushed")


@click.command(
    name="pull",
    epilog=examples(
        "tsandbox cache pull jq --registry registry.example.com/team",
        "tsandbox cache pull recipes/ --family all       what these recipes need, as far as the registry has it",
    ),
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT…", shell_complete=complete_recipes)
@target_options
@recipes_option
@registry_option
@engine_option
@output_options
@click.pass_obj
def pull(
    output: Output,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    registry: str | None,
    engine: str | None,
) -> None:
    """Take the images that recipes or plans need from a registry. What it does not have is told, and no failure.

    An image counts only if its label holds the whole key that the recipe gives here.
    """
    from tsandbox.build import registry as room

    shared = _shared(registry)
    using = connected(engine)
    done: list[dict[str, Any]] = []
    with interruptible():
        for key, tool in _keys(inputs, families, arch, recipe_dirs).items():
            image = room.pull(using, key, shared)
            output.progress(f"{safe(tool)} {shared.name_of(key)}: {'pulled' if image else 'not there'}")
            done.append({"key": key, "tool": tool, "pulled": image is not None})
    there = sum(each["pulled"] for each in done)
    _tell(output, shared, done, f"{there} pulled, {len(done) - there} not there")


def _keys(
    inputs: tuple[str, ...], families: tuple[str, ...], arch: str | None, recipe_dirs: tuple[Path, ...]
) -> dict[str, str]:
    """The keys of the images, each with the first tool that needs it."""
    from tsandbox.derive import derive, image_key

    catalog = catalog_for(inputs, recipe_dirs)
    found: dict[str, str] = {}
    for source in sources(inputs, catalog):
        for family in chosen_families(families):
            chosen = choose(source, catalog, family=family, arch=arch, allow_missing=False)
            found.setdefault(image_key(derive(chosen.plan, chosen.target)), chosen.plan.tool)
    return found


def _shared(reference: str | None) -> "Registry":
    from tsandbox.build.registry import registry

    shared = registry(reference)
    if shared is None:
        raise UsageError("no registry is named", hint="--registry REF, or TSANDBOX_REGISTRY in the environment")
    return shared


def _tell(output: Output, shared: "Registry", images: list[dict[str, Any]], said: str) -> None:
    if output.json:
        output.answer(registry=shared.reference, images=images)
    output.say(f"{said} ({shared.reference})")
