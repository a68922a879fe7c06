"""`tsandbox which`: where an installed program lies."""

import click

from tsandbox.cli.output import Output, examples, output_options
from tsandbox.errors import UsageError


@click.command(
    name="which",
    epilog=examples("tsandbox which rg                 the program itself", "tsandbox which ripgrep-release"),
)
@click.argument("name", metavar="NAME")
@output_options
@click.pass_obj
def command(output: Output, name: str) -> None:
    """Print where the program or tool NAME lies that `tsandbox install` put on this host."""
    from tsandbox.sandbox.shelf import program

    path = program(name)
    if path is None:
        raise UsageError(f"{name} is not installed", hint="tsandbox list --installed")
    if output.json:
        output.answer(name=name, path=str(path))
    else:
        output.say(str(path))
