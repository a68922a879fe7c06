"""`tsandbox spec`: what would be built."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.entry import report
from tsandbox.cli.inputs import (
    catalog_for,
    chosen_families,
    plan_of,
    recipes_option,
    sources,
    target_of,
    target_options,
)
from tsandbox.cli.output import Output, examples, output_options
from tsandbox.errors import InvalidInput, TsandboxError, UsageError
from tsandbox.plan import Catalog, Plan, load
from tsandbox.plan.files import Source, is_dir
from tsandbox.printable import one_line
from tsandbox.recipe import Recipe, Target, darwin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsandbox.derive import ContainerSpec
    from tsandbox.derive.spec import Profile

FORMATS = ("text", "json", "toml", "dockerfile")


class Failed(NamedTuple):
    """What is wrong with an input, with as much as was known of it by then."""

    error: TsandboxError
    tool: str | None = None
    target: Target | None = None


@click.command(
    name="spec",
    epilog=examples(
        "tsandbox spec jq                              a shipped recipe, for people",
        "tsandbox spec plan.json --format json         one object, for scripts",
        "tsandbox spec recipes/ --family all --format json   one line per recipe and family",
        "tsandbox spec my.toml --format dockerfile     the Dockerfile itself",
    ),
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT…", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="By default text.")
@output_options
@click.pass_obj
def command(
    output: Output,
    inputs: tuple[str, ...],
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
    form: str | None,
) -> int:
    """Show what would be built, with no engine and no network.

    INPUT is a recipe, a plan, a directory of them, `-` for standard input, or the name of a recipe. As JSON, several
    inputs or families, and a directory, print one object per line; one input prints one object. As TOML they print
    one [[spec]] table each.
    """
    if output.json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} are two forms, and one is printed", hint="leave one of them out")
    form = form or ("json" if output.json else "text")
    output.json = form == "json"
    catalog = catalog_for(inputs, recipe_dirs)
    wanted = chosen_families(families)
    many = len(inputs) > 1 or len(wanted) > 1 or is_dir(Path(inputs[0]))
    codes: set[int] = set()
    for result in _each(inputs, catalog, wanted, arch, profile):
        if isinstance(result, Failed):
            codes.add(report(result.error, output, tool=result.tool, target=result.target))
        else:
            _show(result, form, output, many=many)
    return InvalidInput.exit_code if InvalidInput.exit_code in codes else max(codes, default=0)


def _each(
    inputs: tuple[str, ...],
    catalog: Catalog,
    families: tuple[str | None, ...],
    arch: str | None,
    profile: "Profile | None",
) -> "Iterator[ContainerSpec | Failed]":
    """One spec, or what is wrong, per input and family, as soon as it is known: one bad recipe stops no other."""
    for name in inputs:
        try:
            for source in sources([name], catalog):
                for family in families:
                    yield _spec(source, catalog, family, arch, profile)
        except TsandboxError as error:
            yield Failed(error)


def _spec(
    source: Source, catalog: Catalog, family: str | None, arch: str | None, profile: "Profile | None"
) -> "ContainerSpec | Failed":
    from tsandbox.derive import derive

    loaded = target = None
    try:
        loaded = load(source)
        target = target_of(loaded, family=family, arch=arch)
        plan = plan_of(loaded, source, catalog, target, allow_missing=True)
        return derive(plan, target, profile=profile)
    except TsandboxError as error:
        return _failed(error, loaded, target)


def _failed(error: TsandboxError, loaded: Recipe | Plan | None, target: Target | None) -> Failed:
    if not isinstance(loaded, Plan):
        return Failed(error, loaded.name if loaded else None, target)
    platform = loaded.platform
    on_a_mac = darwin(platform.arch) if platform and platform.os == "darwin" else None
    return Failed(error, loaded.tool, on_a_mac or target)


def _show(spec: "ContainerSpec", form: str, output: Output, *, many: bool) -> None:
    import msgspec

    from tsandbox.derive import image_key, render, spec_object

    if form == "json":
        data = msgspec.json.encode(spec_object(spec))
        output.data((data if many else msgspec.json.format(data, indent=2)) + b"\n")
    elif form == "dockerfile":
        # A file's name may hold a line break, and the next line would be an instruction.
        output.data((f"# {one_line(spec.source)} on {spec.target}\n" if many else "") + render(spec))
    elif form == "toml":
        from tsandbox.cli.spec_text import as_toml

        output.data(as_toml(spec, many=many))
    else:
        from tsandbox.cli.spec_text import as_text
        from tsandbox.derive.known_keys import key_of

        # Of one recipe the key is often known; of many it is computed sooner than looked up.
        output.say(as_text(spec, image_key(spec)) + "\n" if many else as_text(spec, key_of(spec)))
