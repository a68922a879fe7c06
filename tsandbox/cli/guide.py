"""`tsandbox guide`: what a person does on a platform."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.entry import report, tell
from tsandbox.cli.inputs import catalog_for, checked_version, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import NotSupported, UsageError
from tsandbox.plan import Plan, load, select
from tsandbox.plan.target import target_for
from tsandbox.recipe import Target, darwin, linux

if TYPE_CHECKING:
    from tsandbox.derive.guide import Instruction


class Made(NamedTuple):
    """What a person does on one platform, or why there is nothing to be done there."""

    plan: Plan
    target: Target
    instructions: "tuple[Instruction, ...]" = ()
    error: NotSupported | None = None


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

    RECIPE is a recipe, a plan, `-` for standard input, or the name of a recipe. As JSON, several families are one
    object with a list of guides.
    """
    made = [_made(plan, target) for plan, target in _plans(recipe, recipe_dirs, _targets(os_name, families, arch))]
    failed = [each.error for each in made if each.error]
    if output.json and len(made) > 1:
        _answer_for_all(output, made, failed)
        return failed[0].exit_code if failed else 0
    for i, each in enumerate(made):
        if each.error:
            # Another platform that was asked for may well have instructions.
            report(each.error, output, tool=each.plan.tool, target=each.target)
        elif output.json:
            output.answer(**_found(each))
        else:
            output.say(("\n" if i else "") + _text(each))
        for name in each.plan.missing_dependencies:
            output.warn(safe(f"the recipe also needs {name!r}, and no recipe is called that"))
    return failed[0].exit_code if failed else 0


def _made(plan: Plan, target: Target) -> Made:
    from tsandbox.derive.guide import guide

    try:
        return Made(plan, target, guide(plan, target))
    except NotSupported as error:
        return Made(plan, target, error=error)


def _text(made: Made) -> str:
    from tsandbox.derive.guide import guide_text

    version = f" {made.plan.version}" if made.plan.version else ""
    head = click.style(safe(f"{made.plan.tool}{version} on {made.target}"), bold=True)
    return f"{head}\n\n{safe(guide_text(made.instructions)).rstrip()}"


def _found(made: Made) -> dict[str, object]:
    plan = made.plan
    return {"tool": plan.tool, "version": plan.version, "target": made.target, "instructions": made.instructions}


def _answer_for_all(output: Output, made: list[Made], failed: list[NotSupported]) -> None:
    from tsandbox.report.result import error_record

    output.answer(
        failed[0].exit_code if failed else 0,
        status="error" if failed else "passed",
        stage=NotSupported.stage if failed else None,
        tool=made[0].plan.tool,
        guides=[{**_found(each), "error": error_record(each.error) if each.error else None} for each in made],
        error=error_record(failed[0]) if failed else None,
    )
    for error in failed:
        tell(error)


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
