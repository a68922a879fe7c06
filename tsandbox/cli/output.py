"""Where text goes: machines read stdout, people read what is left of it, and nothing escapes unescaped.

A command takes `@output_options` and `@click.pass_obj`, gets an `Output`, and says things through it. With `--json`
stdout holds exactly one object, and everything for people goes to stderr.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tsandbox.errors import UsageError
from tsandbox.printable import escaped, printable

F = TypeVar("F", bound=Callable[..., Any])


class Output:
    """What the user asked for about output, and the ways to print."""

    def __init__(self) -> None:
        self.json = False
        self.quiet = False
        self.verbose = False
        self.debug = False

    def say(self, text: str = "") -> None:
        """A line that the user asked for."""
        click.echo(text, err=self.json)

    def progress(self, text: str) -> None:
        """A line about what is going on; `--quiet` leaves it out."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """A line that only `--verbose` shows."""
        if self.verbose or self.debug:
            click.echo(click.style(text, dim=True), err=True)

    def warn(self, text: str) -> None:
        click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {text}", err=True)

    def data(self, data: bytes | str) -> None:
        """For machines, on stdout: these bytes, with what a terminal would obey escaped in JSON."""
        raw = data.encode() if isinstance(data, str) else data
        if raw[:1] in (b"{", b"["):
            raw = escaped(raw.decode()).encode()
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()

    def answer(self, exit_code: int = 0, /, **found: Any) -> None:
        """The one object of `--json` for a command that has no format of its own."""
        import msgspec

        from tsandbox.report.result import outcome_object

        self.data(msgspec.json.encode(outcome_object(exit_code, **found)) + b"\n")

    @property
    def live(self) -> bool:
        """Whether moving progress can be shown: stderr is a terminal, and the user wants to see it."""
        return sys.stderr.isatty() and not (self.quiet or self.debug)


def safe(text: object) -> str:
    """Text that a recipe, a plan or a container wrote, made fit for a terminal."""
    return printable(str(text))


def write_file(file: Path, content: str) -> None:
    """A file that the user named, with the directories that lead to it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}", file=str(file)) from None


def output_options(function: F) -> F:
    """`--json`, `--quiet`, `--verbose` and `--debug`, on any command, before or after its name."""
    for name, short, text in (
        ("debug", None, "Show tracebacks and everything that is run."),
        ("verbose", "-v", "Say more."),
        ("quiet", "-q", "Say nothing but results and errors."),
        ("json", None, "Print one JSON object on stdout, whatever happens."),
    ):
        names = [f"--{name}", *([short] if short else [])]
        function = click.option(*names, is_flag=True, expose_value=False, callback=_remember, help=text)(function)
    return function


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    output = ctx.find_root().ensure_object(Output)
    if value and param.name:
        setattr(output, param.name, True)
        if param.name == "debug":
            _show_programs(ctx, output)


def _show_programs(ctx: click.Context, output: Output) -> None:
    from tsandbox.engine import process

    process.told = lambda command: output.detail(f"$ {safe(command)}")
    ctx.call_on_close(lambda: setattr(process, "told", None))


def examples(*lines: str) -> str:
    """The end of a command's help: one example per line, after the comment that explains it."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
