"""Every command with its arguments, options and examples, as click knows them."""

import inspect
import re
from collections.abc import Iterator

import click

from reference_pages.markdown import block, code, table
from tsandbox.cli.commands import SECTIONS
from tsandbox.cli.entry import cli

# On every command: told once.
_EVERYWHERE = ("json", "quiet", "verbose", "debug", "help")


def commands() -> str:
    # Whatever the width of the terminal that this runs in.
    context = click.Context(cli, info_name="tsandbox", terminal_width=100)
    text = "These options stand on every command, before or after its name:\n\n"
    text += _options([param for param in cli.params if param.name in _EVERYWHERE], context)
    for title, section in SECTIONS.items():
        text += f"## {title}\n\n"
        for name in section:
            found = cli.get_command(context, name)
            assert found is not None
            text += "".join(_command(found, context, name))
    return text


def _command(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"### tsandbox {context.command_path.removeprefix('tsandbox ')}\n\n"
    yield _prose(command.help) + "\n\n"
    yield block(command.get_usage(context).removeprefix("Usage: "))
    yield _options([param for param in command.params if param.name not in _EVERYWHERE], context)
    yield _examples(command.epilog)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _command(found, context, below)


def _options(params: list[click.Parameter], context: click.Context) -> str:
    records = [(param, param.get_help_record(context)) for param in params if isinstance(param, click.Option)]
    rows = [[code(record[0]), record[1]] for _, record in records if record]
    return table(["Option", "Meaning"], rows) if rows else ""


def _prose(text: str | None) -> str:
    """A docstring without the line breaks of its source."""
    paragraphs = inspect.cleandoc(text or "").replace("\b\n", "").split("\n\n")
    return "\n\n".join(re.sub(r"\n(?! )", " ", paragraph) for paragraph in paragraphs)


def _examples(epilog: str | None) -> str:
    if not epilog:
        return ""
    lines = epilog.replace("\b\n", "").partition("Examples:\n")[2].splitlines()
    return block("\n".join(line.removeprefix("  ") for line in lines), "sh")
