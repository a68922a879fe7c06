"""`tsandbox remove`: a tool of this host, gone."""

import click

from tsandbox.cli.output import Output, examples, output_options, safe


@click.command(
    name="remove",
    epilog=examples("tsandbox remove ripgrep-release    its directory and its links", "tsandbox list --installed"),
)
@click.argument("tools", nargs=-1, required=True, metavar="TOOL…")
@output_options
@click.pass_obj
def command(output: Output, tools: tuple[str, ...]) -> None:
    """Remove tools that `tsandbox install` put on this host."""
    from tsandbox.sandbox.shelf import remove

    gone = [tool for name in tools for tool in remove(name)]
    if output.json:
        rows = [{"name": tool.name, "version": tool.version, "path": str(tool.path)} for tool in gone]
        output.answer(removed=rows)
        return
    for tool in gone:
        output.say(f"removed {safe(tool.name)} {safe(tool.version)}")
