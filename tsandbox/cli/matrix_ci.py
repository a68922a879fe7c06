"""`tsandbox matrix github` and `gitlab`: the matrix as a workflow file."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from tsandbox.cli.complete import complete_recipes
from tsandbox.cli.inputs import chosen_families
from tsandbox.cli.matrix_inputs import Wanted, chosen_arches, planned, selection_options
from tsandbox.cli.output import Output, examples, output_options
from tsandbox.errors import UsageError
from tsandbox.matrix.ci.workflow import PLACES, System, Workflow, read_pin, render_workflow

F = TypeVar("F", bound=Callable[..., Any])

_REMEMBERED = frozenset(
    {"runners", "registry", "install", "engine", "retries", "yes", "max_jobs", "timeout", "pins", "branch", "name"}
)


def workflow_options(function: F) -> F:
    for option in (
        click.option("--write", is_flag=True, help="Write the file to its place instead of printing it."),
        click.option(
            "--runner", "runners", multiple=True, metavar="ARCH=LABEL", help="The machine for an architecture."
        ),
        click.option("--registry", metavar="REF", help="Share images through this registry (TSANDBOX_REGISTRY)."),
        click.option(
            "--install", metavar="COMMAND", help="How jobs install tsandbox; by default this version with pip."
        ),
        click.option(
            "--engine",
            type=click.Choice(["podman", "docker"]),
            default="podman",
            show_default=True,
            help="What the jobs build and run with.",
        ),
        click.option("--retries", type=click.IntRange(0, 10), default=1, show_default=True, help="As for matrix run."),
        click.option(
            "--yes", "-y", is_flag=True, help="As for matrix run: recipes may run commands and use the network."
        ),
        click.option("--max-jobs", type=click.IntRange(1), metavar="N", help="By default what the CI system starts."),
        click.option("--timeout", type=click.IntRange(1), default=120, show_default=True, help="Minutes per shard."),
        selection_options,
        click.argument("inputs", nargs=-1, required=True, metavar="RECIPE…", shell_complete=complete_recipes),
    ):
        function = option(function)
    return function


@click.command(
    name="github",
    short_help="Print a workflow for GitHub Actions.",
    epilog=examples(
        "tsandbox matrix github recipes/ --family all --write       .github/workflows/tsandbox-matrix.yml",
        "tsandbox matrix github recipes/ --action actions/checkout=<commit>#v5   another pinned version",
        "tsandbox matrix github recipes/ --arch all --registry ghcr.io/example/cache",
    ),
)
@workflow_options
@click.option("--action", "pins", multiple=True, metavar="NAME=COMMIT[#VERSION]", help="Use this commit of an action.")
@click.option("--branch", default="main", show_default=True, help="The branch whose pushes run everything.")
@click.option("--name", default="Recipes", show_default=True, help="The name of the workflow.")
@output_options
@click.pass_obj
def github(output: Output, /, pins: tuple[str, ...], branch: str, name: str, **options: Any) -> None:
    """Print a workflow for GitHub Actions: plan, run in shards, merge, report.

    Actions are pinned to commits, and jobs may only read the repository. A pull request runs what it touches.
    """
    made = _workflow("github", options)
    made = msgspec.structs.replace(made, branch=branch, name=name, pins=dict(map(read_pin, pins)))
    _give("github", made, options["write"], output)


@click.command(
    name="gitlab",
    short_help="Print a pipeline for GitLab CI.",
    epilog=examples(
        "tsandbox matrix gitlab recipes/ --family all --write       .gitlab-ci.yml",
        "tsandbox matrix gitlab recipes/ --runner amd64=my-runner-tag --max-jobs 8",
    ),
)
@workflow_options
@output_options
@click.pass_obj
def gitlab(output: Output, /, **options: Any) -> None:
    """Print a pipeline for GitLab CI: plan, run in shards, merge, report."""
    _give("gitlab", _workflow("gitlab", options), options["write"], output)


def _workflow(system: System, options: dict[str, Any]) -> Workflow:
    from tsandbox.build.registry import registry

    wanted = Wanted(*(options[name] for name in Wanted._fields))
    # What cannot be planned is told now, not by the first CI run.
    plan = planned(wanted)
    registry(options["registry"])
    arches = chosen_arches(wanted.arches)
    arguments = [*wanted.inputs]
    arguments += [f"--family={family or 'debian'}" for family in chosen_families(wanted.families)]
    arguments += [f"--arch={arch}" for arch in arches]
    arguments += [f"--recipes={path}" for path in wanted.recipe_dirs]
    arguments += [f"--exclusions={path}" for path in wanted.exclusion_files]
    made = Workflow(
        command=shlex.join(["tsandbox", "matrix", system, *arguments, *_other_options(), "--write"]),
        arguments=tuple(arguments),
        arches=arches,
        runners=dict(map(_runner, options["runners"])),
        images={arch: len({cell.group for cell in plan.cells if cell.target.arch == arch}) for arch in arches},
        **{name: options[name] for name in ("engine", "registry", "retries", "max_jobs", "timeout", "yes")},
    )
    return msgspec.structs.replace(made, install=options["install"]) if options["install"] else made


def _other_options() -> Iterator[str]:
    """The options besides those of the plan as they were given, so that the file tells how it is made again."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not given or name not in _REMEMBERED:
            continue
        value = context.params[name]
        word = max(option.opts, key=len)
        yield from [word] if option.is_flag else [f"{word}={each}" for each in (value if option.multiple else [value])]


def _runner(text: str) -> tuple[str, str]:
    arch, _, label = text.partition("=")
    if not label:
        raise UsageError(f"--runner {text}: expected ARCH=LABEL, as in arm64=my-runner")
    [name] = chosen_arches((arch,))
    return name, label


def _give(system: System, workflow: Workflow, write: bool, output: Output) -> None:
    text = render_workflow(system, workflow)
    path = Path(PLACES[system])
    if write:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}", file=str(path)) from None
    if output.json:
        output.answer(file=str(path) if write else None, workflow=text)
    elif write:
        output.say(f"{path} written; commit it to run the matrix")
    else:
        output.data(text)
