"""The way in and the only way out: every error becomes text or JSON here, with the exit code that it carries."""

import errno
import gc
import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

import click

from tsandbox import __version__
from tsandbox.cli import streams
from tsandbox.cli.commands import LazyGroup, ReaderGone
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import Interrupted, InvalidInput, NoSpace, TsandboxError, UsageError

if TYPE_CHECKING:
    from tsandbox.recipe import Target

# As a shell tells a death by SIGPIPE.
_READER_GONE = 141
# What a machine does not let us do with a file. Other trouble with files is a bug.
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
# A group without a command: the exception's message is the whole help. Before click 8.2 click printed it itself.
_COMMAND_MISSING: type[click.UsageError] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    if ctx.find_object(Output) and ctx.obj.json:
        ctx.obj.answer(version=__version__)
    else:
        click.echo(f"tsandbox, version {__version__}")
    ctx.exit()


@click.command(
    cls=LazyGroup,
    name="tsandbox",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "tsandbox spec jq                        what would be built",
        "tsandbox install jq --sandbox           prove that it installs",
        "tsandbox validate recipes/              check every recipe",
        "tsandbox doctor                         what this machine lacks",
    ),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
@output_options
def cli() -> None:
    """Prove that an install recipe declares all it needs.

    tsandbox derives the exact system environment that a recipe or plan declares, builds it as a content-addressed
    image on a base that holds nearly nothing, and installs and verifies in it: offline and limited.
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command and end the process."""
    arguments = sys.argv[1:] if args is None else args
    streams.make_usable()
    output = Output()
    # A usage error ends the parsing before `--json` is seen, and still has to answer in JSON.
    output.json = _asks_for_json(arguments)
    output.debug = "--debug" in arguments
    try:
        sys.exit(_run(arguments, output))
    finally:
        # Nothing is left to do: a last look for garbage while Python shuts down takes a sixth of the time of `spec`.
        gc.freeze()


def _asks_for_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not {"--json", "--format=json"}.isdisjoint(options) or ("--format", "json") in pairwise(options)


def _run(arguments: list[str], output: Output) -> int:
    try:
        code = cli.main(
            arguments,
            prog_name="tsandbox",
            standalone_mode=False,
            obj=output,
            color=_colour(),
            terminal_width=_terminal_width(),
        )
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except ReaderGone:
        streams.abandon()
        return _READER_GONE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place that can turn a bug into a message
        with click.Context(cli, color=_colour()):
            if isinstance(error, _COMMAND_MISSING):
                click.echo(error.format_message(), err=True)
                return UsageError.exit_code
            return _end_with(_as_ours(error), output)


def _colour() -> bool | None:
    """None leaves it to click, which colours terminals alone; https://no-color.org says what the variable means."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _end_with(error: TsandboxError, output: Output) -> int:
    """Tell the error as far as anything can still be told: what takes our output may be gone or full."""
    try:
        return report(error, output)
    except BrokenPipeError:
        streams.abandon()
        return _READER_GONE
    except OSError:
        streams.abandon()
        with suppress(OSError):
            tell(error)
        return error.exit_code


def _terminal_width() -> int:
    """As click finds it out itself, which imports all of Python's archive modules on the way."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (ValueError, OSError):
        columns = 80
    return max(min(columns, 102) - 2, 50)


def _as_ours(error: BaseException) -> TsandboxError:
    """Any exception as one that says what, where and what to do."""
    match error:
        case TsandboxError():
            return error
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "tsandbox"
            ours: TsandboxError = UsageError(error.format_message(), hint=f"{where} --help")
        case click.ClickException():
            ours = UsageError(error.format_message())
        case KeyboardInterrupt() | click.Abort():
            ours = Interrupted("interrupted")
        case RecursionError():
            ours = InvalidInput("the input is nested too deeply")
        case MemoryError():
            ours = TsandboxError("out of memory", hint="fewer parallel jobs need less")
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            ours = NoSpace("the disk is full", hint="`tsandbox cache gc` frees what tsandbox itself keeps")
        case OSError(errno=number, filename=str() as path) if number in _REFUSED:
            ours = UsageError(
                f"{path}: {error.strerror}",
                hint="is it yours to write? `tsandbox doctor` shows the directories of tsandbox, and TSANDBOX_STATE_DIR"
                " and TSANDBOX_CACHE_DIR name others",
            )
        case _:
            ours = TsandboxError(
                f"internal error: {type(error).__name__}: {error}",
                hint="this is a bug in tsandbox; please report it with the output of the same command and --debug",
            )
    ours.__cause__ = error
    return ours


def report(error: TsandboxError, output: Output, *, tool: str | None = None, target: "Target | None" = None) -> int:
    """Tell an error, in the way that was asked for, with what was known by then, and return its exit code."""
    if output.json:
        from tsandbox.report.result import encode, from_error, target_record

        where = target_record(target) if target else None
        output.data(encode(from_error(error, source=error.file, tool=tool, target=where)) + b"\n")
    tell(error)
    if output.debug:
        import traceback

        traceback.print_exception(error)
    return error.exit_code


def tell(error: TsandboxError) -> None:
    """What, where, what to do: on stderr."""
    click.echo(f"{click.style('error', fg='red', bold=True)}: {safe(error.message)}", err=True)
    for line in error.details:
        click.echo(f"  {safe(line)}", err=True)
    if error.hint:
        click.echo(f"{click.style('hint', fg='cyan', bold=True)}: {safe(error.hint)}", err=True)
