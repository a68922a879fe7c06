"""`tsandbox shell`: a shell in the sandbox of a recipe, with its files as they are before a step or at the end."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.inputs import Chosen, catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.install_consent import ask
from tsandbox.cli.install_options import run_options
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import UsageError

if TYPE_CHECKING:
    from tsandbox.engine import Engine
    from tsandbox.sandbox import Outcome


@click.command(
    name="shell",
    epilog=examples(
        "tsandbox shell jq                     where everything is installed",
        "tsandbox shell my.toml --step 3       where steps 1 and 2 have run",
        "tsandbox shell my.toml -c 'ls -R'     one command instead of a session",
        "tsandbox shell failed.tar.gz          in what a capsule holds",
    ),
)
@click.argument("recipe", metavar="RECIPE", shell_complete=complete_recipes)
@target_options
@recipes_option
@click.option("--engine", metavar="ENGINE", help="podman, docker or auto.")
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@click.option("--step", type=click.IntRange(1), metavar="N", help="Stop before step N.")
@click.option("-c", "script", metavar="COMMAND", help="Run this with sh, and end.")
@click.option("--yes", "-y", is_flag=True, help="Agree to commands and network access of a local recipe.")
@output_options
@click.pass_obj
def command(
    output: Output,
    recipe: str,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    engine: str | None,
    profile: str | None,
    step: int | None,
    script: str | None,
    yes: bool,
) -> int:
    """Install RECIPE, or what CAPSULE holds, in its sandbox, whole or up to a step, and open a shell there.

    In minimal images that is busybox's sh. The installation's files are below /tsandbox/out; leaving the shell removes
    them.
    """
    from tsandbox.cli.engines import chosen_engine
    from tsandbox.cli.live import watching
    from tsandbox.sandbox import prove
    from tsandbox.sandbox.shell import open_shell

    if output.json:
        raise UsageError("a shell is for people, and --json is for programs")
    if script is None and not sys.stdin.isatty():
        raise UsageError("a shell needs a terminal", hint="tsandbox shell RECIPE -c COMMAND runs one command")
    chosen = _chosen(recipe, families, arch, recipe_dirs)
    agreed = ask(chosen.plan, yes=yes, output=output)
    options = run_options(profile=profile, allow_run_command=agreed, keep=True, stop_before=step, no_cache=False)
    connected = chosen_engine(engine)
    with watching(output, chosen.plan.tool) as listener:
        outcome = prove(chosen.plan, chosen.target, options, engine=connected, listener=listener)
    try:
        if "files" not in outcome.kept and outcome.error:
            raise outcome.error
        if outcome.error:
            output.warn(safe(outcome.error.message))
        argv = ("/bin/sh",) if script is None else ("/bin/sh", "-c", script)
        return open_shell(outcome, connected, argv=argv, tty=script is None)
    finally:
        _discard(outcome)


def _chosen(recipe: str, families: tuple[str, ...], arch: str | None, recipe_dirs: tuple[Path, ...]) -> Chosen:
    from tsandbox.sandbox.capsule import is_capsule, read

    if is_capsule(Path(recipe)):
        held = read(Path(recipe))
        return Chosen(held.plan, held.about.target)
    wanted = chosen_families(families)
    catalog = catalog_for([recipe], recipe_dirs)
    found = list(sources([recipe], catalog))
    if len(found) != 1 or len(wanted) != 1:
        raise UsageError("one recipe and one family at a time")
    return choose(found[0], catalog, family=wanted[0], arch=arch, allow_missing=False)


def after_failure(outcome: "Outcome", engine: "Engine", *, keep: bool) -> None:
    """The shell of `install --shell-on-fail`."""
    from tsandbox.sandbox.shell import open_shell

    try:
        if outcome.error and outcome.exit_code != 130 and outcome.steps and sys.stdin.isatty():
            click.echo("\nA shell where it failed; its files are below /tsandbox/out. Leave it with exit.", err=True)
            open_shell(outcome, engine)
    finally:
        if not keep:
            _discard(outcome)


def _discard(outcome: "Outcome") -> None:
    from tsandbox.runner.trees import clear

    if "files" in outcome.kept:
        clear(Path(outcome.kept["files"]))
