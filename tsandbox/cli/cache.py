"""`tsandbox cache`: look into, explain, share and clean the image cache."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.cache_gc import gc
from tsandbox.cli.cache_registry import pull, push
from tsandbox.cli.cache_share import export, import_
from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import connected, engine_option
from tsandbox.cli.inputs import catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import UsageError

if TYPE_CHECKING:
    from tsandbox.build.cache import Entry, Explanation
    from tsandbox.derive.spec import Profile


@click.group(
    name="cache",
    epilog=examples(
        "tsandbox cache ls                          the images, most recently used first",
        "tsandbox cache explain my.toml             a hit, or which fields differ from the nearest image",
        "tsandbox cache gc --max-size 5G --older-than 30d --dry-run",
        "tsandbox cache export jq exports/          an OCI archive with checksums",
        "tsandbox cache import exports/             on another machine, with no registry",
        "tsandbox cache push --registry registry.example.com/team",
    ),
)
@output_options
def command() -> None:
    """Look into, explain, share and clean the image cache."""


command.add_command(gc)
command.add_command(export)
command.add_command(import_)
command.add_command(push)
command.add_command(pull)


@command.command(name="ls", epilog=examples("tsandbox cache ls", "tsandbox cache ls --json"))
@engine_option
@output_options
@click.pass_obj
def ls(output: Output, engine: str | None) -> None:
    """List the images of the cache, most recently used first."""
    from tsandbox.build.cache import entries
    from tsandbox.cli.tables import age, table
    from tsandbox.report.words import size

    found = entries(connected(engine))
    if output.json:
        output.answer(images=found)
        return
    now = time.time()
    rows = [
        [
            entry.tool,
            entry.reference,
            entry.platform.rpartition("/")[2],
            entry.profile,
            size(entry.size),
            age(now - entry.created),
            age(now - entry.last_used),
        ]
        for entry in found
    ]
    heads = ["TOOL", "IMAGE", "ARCH", "PROFILE", "SIZE", "AGE", "LAST USED"]
    output.say(table(heads, rows) if rows else "the cache is empty: tsandbox build jq")


@command.command(name="du", epilog=examples("tsandbox cache du"))
@engine_option
@output_options
@click.pass_obj
def du(output: Output, engine: str | None) -> None:
    """Show what takes up space. The layers of a base are counted once, not with every image on it."""
    from tsandbox.build.cache import usage
    from tsandbox.cli.tables import table
    from tsandbox.report.words import size

    found = usage(connected(engine))
    total = sum(each.size for each in found)
    if output.json:
        output.answer(total=total, usage=found)
        return
    rows = [[each.what, str(each.count), size(each.size), each.where] for each in found]
    output.say(table(["WHAT", "COUNT", "SIZE", "WHERE"], [*rows, ["in all", "", size(total), ""]]))


@command.command(
    name="explain",
    short_help="Say whether an image is there, or what differs.",
    epilog=examples("tsandbox cache explain jq", "tsandbox cache explain plan.json --family debian"),
)
@click.argument("name", metavar="INPUT", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@engine_option
@output_options
@click.pass_obj
def explain(
    output: Output,
    name: str,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    profile: "Profile | None",
    engine: str | None,
) -> None:
    """Say whether the image of INPUT is there, or which fields differ from the nearest one."""
    import msgspec

    from tsandbox.build.cache import explain as explained
    from tsandbox.derive import derive

    catalog = catalog_for([name], recipe_dirs)
    wanted, found = chosen_families(families), list(sources([name], catalog))
    if len(wanted) > 1 or len(found) != 1:
        raise UsageError("one input for one family can be explained at a time")
    chosen = choose(found[0], catalog, family=wanted[0], arch=arch, allow_missing=True)
    explanation = explained(connected(engine), derive(chosen.plan, chosen.target, profile=profile))
    if output.json:
        output.answer(input=name, **msgspec.to_builtins(explanation))
        return
    _tell(explanation, output)


@command.command(
    name="verify",
    short_help="Find images whose label, tag or content disagree.",
    epilog=examples("tsandbox cache verify", "tsandbox cache verify --json"),
)
@engine_option
@output_options
@click.pass_obj
def verify(output: Output, engine: str | None) -> int:
    """Find images whose label, tag or content disagree; exit 6 if there are any."""
    from tsandbox.build.verify import verify as verified
    from tsandbox.errors import BuildFailed
    from tsandbox.report.words import plural

    count, faults = verified(connected(engine))
    code = BuildFailed.exit_code if faults else 0
    counted = f"{plural(count, 'image')} checked, {plural(len(faults), 'fault')}"
    if output.json:
        output.answer(code, why=counted, checked=count, faults=faults)
    for fault in faults:
        output.say(f"{safe(fault.image)}: {safe(fault.problem)}")
        output.say(f"  {safe(fault.hint)}")
    output.say(counted)
    return code


def _tell(explanation: "Explanation", output: Output) -> None:
    if explanation.entry is not None:
        output.say(f"{click.style('hit', fg='green', bold=True)}  {explanation.image}")
        _about(explanation.entry, output)
        return
    output.say(f"{click.style('miss', fg='yellow', bold=True)}  {explanation.image} is not there")
    if explanation.note:
        output.say(f"  {explanation.note}")
    if explanation.nearest is None:
        output.say("  the cache is empty")
        return
    output.say(f"nearest: {explanation.nearest.reference}")
    _about(explanation.nearest, output)
    output.say("different:")
    for field in explanation.differences:
        output.say(f"  {click.style(safe(field.field), bold=True)}")
        for mark, text in (("+", field.here), ("-", field.there)):
            for line in text.splitlines():
                output.say(f"    {mark} {safe(line)}")


def _about(entry: "Entry", output: Output) -> None:
    from tsandbox.cli.tables import age
    from tsandbox.report.words import size

    now = time.time()
    output.say(f"  made {age(now - entry.created)} ago, used {age(now - entry.last_used)} ago, {size(entry.size)}")
    for tool, source in entry.asked.items() or {entry.tool: "?"}.items():
        output.say(f"  asked for by {safe(tool)} ({safe(source)})")
