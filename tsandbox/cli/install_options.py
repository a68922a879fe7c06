"""The options of an installation, from the words of the command line to values."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from tsandbox.errors import UsageError
from tsandbox.recipe import grammar

if TYPE_CHECKING:
    from tsandbox.cli.output import Output
    from tsandbox.sandbox import RunOptions
    from tsandbox.sandbox.outcome import Limits

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SANDBOX_ONLY = {
    "families": "--family",
    "engine": "--engine",
    "profile": "--profile",
    "limits": "--limits",
    "keep": "--keep",
    "shell": "--shell-on-fail",
    "capsule": "--capsule",
}


def environment(given: Iterable[str], *, sandbox: bool = True) -> dict[str, str]:
    """`KEY=VALUE`, or `KEY` for the value that this process has; no message ever shows a value."""
    made: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not _NAME.fullmatch(name):
            raise UsageError(f"--env: {name!r} is no name of a variable", hint="--env KEY, or --env KEY=VALUE")
        if sandbox and (message := grammar.free_in_sandbox(name)):
            raise UsageError(f"--env {message}", hint="a step with set_env changes it for the steps that follow")
        if not equals and name not in os.environ:
            raise UsageError(f"--env {name}: there is no such variable here", hint=f"export {name}=… first")
        made[name] = value if equals else os.environ[name]
        if "\0" in made[name]:
            raise UsageError(f"--env {name}: a value cannot hold a zero byte")
    return made


def warn_of_plain(env: Mapping[str, str], output: "Output") -> None:
    """What cannot be masked is said, before it is printed somewhere."""
    from tsandbox.sandbox.secrets import is_maskable

    for name in (name for name, value in env.items() if not is_maskable(value)):
        output.warn(f"--env {name}: so short or common a value is not masked: it would hide ordinary text")


def limits_from(given: Iterable[str], timeout: float | None) -> "Limits":
    from tsandbox.sandbox.options import amount
    from tsandbox.sandbox.outcome import Limits

    values: dict[str, float] = {} if timeout is None else {"timeout": timeout}
    for each in (word for words in given for word in words.split(",") if word):
        name, _, value = each.partition("=")
        try:
            match name:
                case "memory" | "disk":
                    values[name] = amount(value)
                case "pids":
                    values[name] = int(value)
                case "cpus" | "timeout":
                    values[name] = float(value)
                case _:
                    raise UsageError(
                        f"--limits: unknown limit {name!r}", hint="one of: memory, cpus, pids, disk, timeout"
                    )
        except ValueError:
            raise UsageError(
                f"--limits {each}: {value!r} is no such amount", hint="as in: --limits memory=512m,cpus=1,pids=50"
            ) from None
        if message := _wrong(name, values[name]):
            raise UsageError(f"--limits {each}: {message}")
    return Limits(**values)  # type: ignore[arg-type] # each has the type of its field


def seconds(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A bound of the `--timeout` option alone lets through what is no number."""
    if value is not None and (message := grammar.quantity(value)):
        raise click.BadParameter(f"{value:g}: {message}")
    return value


def _wrong(name: str, value: float) -> str | None:
    """As a recipe's own limits are checked."""
    match name:
        case "memory":
            return grammar.memory.out_of_bounds(int(value))
        case "disk":
            return grammar.disk.out_of_bounds(int(value))
        case _:
            return grammar.quantity(value)


def only_for_sandbox(**given: object) -> None:
    """Options that would be ignored are refused instead."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{_SANDBOX_ONLY[name]} is for --sandbox", hint="add --sandbox, or leave it out")


def run_options(*, no_cache: bool, **given: Any) -> "RunOptions":
    from tsandbox.build import BuildOptions
    from tsandbox.sandbox import RunOptions

    return RunOptions(build=BuildOptions(no_cache=no_cache), **given)
