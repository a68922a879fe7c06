"""`tsandbox install`: prove a recipe in a sandbox, or install it on this host."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.engines import chosen_engine, interruptible
from tsandbox.cli.entry import report
from tsandbox.cli.inputs import Chosen, catalog_for, choose, chosen_families, recipes_option, sources, target_options
from tsandbox.cli.install_consent import ask
from tsandbox.cli.install_options import environment, limits_from, only_for_sandbox, run_options, seconds, warn_of_plain
from tsandbox.cli.output import Output, examples, output_options
from tsandbox.errors import EngineUnavailable, UsageError

if TYPE_CHECKING:
    from tsandbox.derive.spec import Profile
    from tsandbox.engine import Engine
    from tsandbox.plan import Catalog
    from tsandbox.plan.files import Source
    from tsandbox.sandbox import Outcome, RunOptions


@click.command(
    name="install",
    epilog=examples(
        "tsandbox install jq --sandbox                       prove it: derived image, no network, limits",
        "tsandbox install my.toml --sandbox --shell-on-fail   and look around where it failed",
        "tsandbox install --plan plan.json --sandbox --json   one object for scripts",
        "tsandbox install my.toml --sandbox --env TOKEN       with a secret of this shell, masked everywhere",
        "tsandbox install my.toml --sandbox --limits memory=512m,pids=50 --timeout 30",
        "tsandbox install ripgrep-release                     on this host, below your data directory",
    ),
)
@click.argument("recipe", metavar="RECIPE", shell_complete=complete_recipes, required=False)
@click.option("--plan", "plan_file", metavar="FILE", help="Install this plan instead of a recipe; - for stdin.")
@click.option("--sandbox", is_flag=True, help="Install in a container that holds nothing but what is declared.")
@target_options
@recipes_option
@click.option("--engine", metavar="ENGINE", help="podman, docker or auto.")
@click.option("--profile", type=click.Choice(["minimal", "full"]), help="By default minimal on debian, full elsewhere.")
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="A variable for the installation, from this shell without =VALUE. Values are secrets; may be repeated.",
)
@click.option(
    "--limits", multiple=True, metavar="NAME=VALUE,…", help="memory, cpus, pids, disk, timeout: as in memory=512m."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    callback=seconds,
    metavar="SECONDS",
    help="The longest that it may take.",
)
@click.option("--keep", is_flag=True, help="Keep the files of the run, and say where they are.")
@click.option(
    "--capsule",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all that another machine needs to run it again; in CI a failed run always leaves one.",
)
@click.option("--shell-on-fail", is_flag=True, help="Open a shell where the installation failed.")
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is in the caches.")
@click.option("--no-cache", is_flag=True, help="Build the image anew.")
@click.option("--yes", "-y", is_flag=True, help="Agree to commands and network access of a local recipe.")
@output_options
@click.pass_obj
def command(
    output: Output,
    recipe: str | None,
    plan_file: str | None,
    sandbox: bool,
    families: tuple[str, ...],
    arch: str | None,
    recipe_dirs: tuple[Path, ...],
    engine: str | None,
    profile: "Profile | None",
    env: tuple[str, ...],
    limits: tuple[str, ...],
    timeout: float | None,
    keep: bool,
    capsule: Path | None,
    shell_on_fail: bool,
    offline: bool,
    no_cache: bool,
    yes: bool,
) -> int:
    """Install RECIPE, with --sandbox in a container that proves what it needs, without it on this host.

    RECIPE is a recipe file, a plan, `-` for standard input, or the name of a recipe.
    """
    name = _one_input(recipe, plan_file)
    if shell_on_fail and output.json:
        raise UsageError("--shell-on-fail needs a terminal, and --json is for programs", hint="use one of them")
    with interruptible():
        if not sandbox:
            only_for_sandbox(
                families=families,
                engine=engine,
                profile=profile,
                limits=limits,
                keep=keep,
                shell=shell_on_fail,
                capsule=capsule,
            )
            return _on_host(output, name, recipe_dirs, env, timeout=timeout, offline=offline)
        chosen = _chosen(name, plan_file is not None, families, arch, recipe_dirs)
        agreed = ask(chosen.plan, yes=yes, output=output)
        given = environment(env)
        warn_of_plain(given, output)
        options = run_options(
            profile=profile,
            env=given,
            limits=limits_from(limits, timeout),
            offline=offline,
            no_cache=no_cache,
            allow_run_command=agreed,
            keep=keep or shell_on_fail,
        )
        return in_sandbox(output, chosen, name, options, engine=engine, shell=shell_on_fail, keep=keep, capsule=capsule)


def in_sandbox(
    output: Output,
    chosen: Chosen,
    name: str,
    options: "RunOptions",
    *,
    engine: str | None,
    shell: bool = False,
    keep: bool = False,
    capsule: Path | None = None,
) -> int:
    """Prove it, tell what came of it, and return the exit code."""
    from tsandbox.cli.install_summary import summary
    from tsandbox.cli.live import watching
    from tsandbox.sandbox import prove

    try:
        connected = chosen_engine(engine)
    except EngineUnavailable as error:
        return report(error, output, tool=chosen.plan.tool, target=chosen.target)
    with watching(output, chosen.plan.tool) as listener:
        outcome = prove(chosen.plan, chosen.target, options, engine=connected, listener=listener)
    written = _capsule(outcome, options, connected, capsule)
    _print(output, outcome)
    output.say(summary(outcome, name, kept=keep, capsule=written, shell=shell))
    if shell:
        from tsandbox.cli.shell import after_failure

        after_failure(outcome, connected, keep=keep)
    return outcome.exit_code


def _capsule(outcome: "Outcome", options: "RunOptions", engine: "Engine", wanted: Path | None) -> Path | None:
    """The capsule where one was asked for; in CI every failed run leaves one beside its log."""
    from tsandbox.sandbox import capsule
    from tsandbox.sandbox.logs import capsule_beside

    log = capsule.run_log(outcome)
    if wanted is None and os.environ.get("CI") and outcome.error and log and outcome.exit_code != 130:
        wanted = capsule_beside(log)
    return capsule.write(wanted, outcome, options, engine) if wanted else None


def _on_host(
    output: Output,
    name: str,
    recipe_dirs: tuple[Path, ...],
    env: tuple[str, ...],
    *,
    timeout: float | None,
    offline: bool,
) -> int:
    from tsandbox.cli.install_summary import host_summary
    from tsandbox.cli.live import watching
    from tsandbox.sandbox.host_install import install
    from tsandbox.sandbox.this_host import host_target

    target = host_target()
    catalog = catalog_for([name], recipe_dirs)
    chosen = choose(_single(name, catalog), catalog, family=target.linux_family, arch=target.arch, allow_missing=False)
    with watching(output, chosen.plan.tool) as listener:
        outcome = install(
            chosen.plan,
            target,
            env=environment(env, sandbox=False),
            timeout=timeout,
            offline=offline,
            listener=listener,
        )
    _print(output, outcome)
    output.say(host_summary(outcome))
    return outcome.exit_code


def _print(output: Output, outcome: "Outcome") -> None:
    if output.json:
        from tsandbox.report.outcome import result_of
        from tsandbox.report.result import encode

        output.data(encode(result_of(outcome)) + b"\n")
    if output.debug and outcome.error:
        import traceback

        traceback.print_exception(outcome.error)


def _one_input(recipe: str | None, plan_file: str | None) -> str:
    if recipe and plan_file:
        raise UsageError("RECIPE and --plan are two inputs, and one is installed", hint="leave one of them out")
    name = recipe or plan_file
    if not name:
        raise UsageError("what is to be installed?", hint="tsandbox install RECIPE, or --plan FILE")
    return name


def _chosen(
    name: str, is_plan: bool, families: tuple[str, ...], arch: str | None, recipe_dirs: tuple[Path, ...]
) -> Chosen:
    wanted = chosen_families(families)
    if len(wanted) > 1:
        raise UsageError("one family at a time", hint="`tsandbox matrix run` proves several")
    catalog = catalog_for([name], recipe_dirs)
    source = _single(name, catalog)
    return choose(source, catalog, family=wanted[0], arch=arch, allow_missing=False, only="plan" if is_plan else None)


def _single(name: str, catalog: "Catalog") -> "Source":
    if Path(name).is_dir():
        raise UsageError(f"{name}: one recipe is installed at a time", hint="`tsandbox matrix run` proves a directory")
    [found] = sources([name], catalog)
    return found
