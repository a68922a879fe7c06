"""`tsandbox guide`: what a person does on a platform."""

from pathlib import Path

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.entry import report
from tsandbox.cli.inputs import catalog_for, checked_version, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import NotSupported, UsageError
from tsandbox.plan import Plan, load, select
from tsandbox.plan.target import target_for
from tsandbox.recipe import Target, darwin, linux


@click.command(
    name="guide",
    epilog=examples(
        "tsandbox guide docker                    on Debian and its relatives",
        "tsandbox guide docker --family rhel      on Fedora",
        "tsandbox guide my.toml --os darwin       on a Mac",
    ),
)
@click.argument("recipe", metavar="RECIPE", shell_complete=complete_recipes)
@target_options
@click.option("--os", "os_name", type=click.Choice(["linux", "darwin"]), help="By default linux.")
@recipes_option
@output_options
@click.pass_obj
def command(
    output: Output,
    recipe: str,
    families: tuple[str, ...],
    arch: str | None,
    os_name: str | None,
    recipe_dirs: tuple[Path, ...],
) -> int:
    """Print instructions for a person on a platform: numbered, and ready to copy.

    RECIPE is a recipe, a plan, `-` for standard input, or the name of a recipe.
    """
    from tsandbox.derive.guide import guide, guide_text

    code = 0
    for i, (plan, target) in enumerate(_plans(recipe, recipe_dirs, _targets(os_name, families, arch))):
        try:
            instructions = guide(plan, target)
        except NotSupported as error:
            # Another platform that was asked for may well have instructions.
            code = report(error, output)
            continue
        if output.json:
            output.answer(tool=plan.tool, version=plan.version, target=target, instructions=instructions)
            continue
        gap = "\n" if i else ""
        version = f" {plan.version}" if plan.version else ""
        output.say(gap + click.style(safe(f"{plan.tool}{version} on {target}"), bold=True) + "\n")
        output.say(safe(guide_text(instructions)).rstrip("\n"))
        for name in plan.missing_dependencies:
            output.warn(safe(f"the recipe also needs {name!r}, and no recipe is called that"))
    return code


def _targets(os_name: str | None, families: tuple[str, ...], arch: str | None) -> tuple[Target | None, ...]:
    """The platforms that were asked for; None for whatever the input itself says."""
    wanted = chosen_families(families)
    if os_name == "darwin":
        if families:
            raise UsageError("--family is for Linux, and --os darwin is not", hint="leave one of them out")
        return (darwin(arch),)
    if wanted == (None,) and os_name is None and arch is None:
        return (None,)
    return tuple(linux(family or "debian", arch) for family in wanted)


def _plans(recipe: str, recipe_dirs: tuple[Path, ...], targets: tuple[Target | None, ...]) -> list[tuple[Plan, Target]]:
    catalog = catalog_for([recipe], recipe_dirs)
    found = list(sources([recipe], catalog))
    if len(found) != 1:
        raise UsageError(f"{recipe}: a guide is for one recipe, not for a directory")
    loaded = load(found[0])
    if isinstance(loaded, Plan):
        return [(loaded, _plan_target(loaded, target)) for target in targets]
    version = checked_version(found[0])
    made = []
    for target in targets:
        chosen = target or linux()
        made.append((select(loaded, chosen, version=version, catalog=catalog, allow_missing=True), chosen))
    return made


def _plan_target(plan: Plan, asked: Target | None) -> Target:
    """A plan was made for one platform, and only that one has instructions."""
    platform = plan.platform
    if platform is not None and platform.os == "darwin":
        own = darwin(platform.arch)
        if asked is not None and asked.os != "darwin":
            raise NotSupported(f"{plan.file}: the plan is for {own}, not for {asked}", file=plan.file)
        return own
    if asked is not None and asked.os == "darwin":
        raise NotSupported(f"{plan.file}: the plan is for Linux, not for {asked}", file=plan.file)
    return target_for(plan, family=asked.linux_family if asked else None, arch=asked.arch if asked else None)
