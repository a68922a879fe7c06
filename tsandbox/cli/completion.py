"""`tsandbox completion`: what makes a shell complete commands, options and recipes."""

import click
from click.shell_completion import get_completion_class

from tsandbox.cli.output import Output, examples, output_options


@click.command(
    name="completion",
    epilog=examples(
        'eval "$(tsandbox completion bash)"                                       in ~/.bashrc',
        'eval "$(tsandbox completion zsh)"                                        in ~/.zshrc',
        "tsandbox completion fish > ~/.config/fish/completions/tsandbox.fish     once",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@output_options
@click.pass_obj
def command(output: Output, shell: str) -> None:
    """Print the completion script for SHELL."""
    from tsandbox.cli.entry import cli

    complete = get_completion_class(shell)
    assert complete is not None
    script = complete(cli, {}, "tsandbox", "_TSANDBOX_COMPLETE").source() + "\n"
    if output.json:
        output.answer(shell=shell, script=script)
    else:
        output.data(script)
