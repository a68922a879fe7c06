"""The commands by name. Each lives in a module of its own, which is imported only when it is used.

`tsandbox --help` prints these summaries without importing any of the modules; a test compares them with the modules.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    module: str
    summary: str


SECTIONS: dict[str, dict[str, Entry]] = {
    "Prove": {
        "install": Entry("install", "Install a recipe, on the host or in a sandbox that proves it."),
        "matrix": Entry("matrix", "Prove recipes × families × architectures, in parallel or in CI."),
        "replay": Entry("replay", "Run a failure capsule again."),
        "shell": Entry("shell", "Open a shell where an installation ran or failed."),
    },
    "Look": {
        "spec": Entry("spec", "Show what would be built, with no engine and no network."),
        "plan": Entry("plan", "Write the installation plan of a recipe."),
        "validate": Entry("validate", "Check recipes and plans, and warn about what will hurt."),
        "guide": Entry("guide", "Print instructions for a person on a platform."),
        "list": Entry("listing", "List recipes, or the tools installed on this host."),
        "which": Entry("which", "Print where an installed tool lies."),
        "schema": Entry("schema", "Print the JSON Schema of a format."),
    },
    "Images": {
        "build": Entry("build", "Build the image of a recipe, or reuse it."),
        "cache": Entry("cache", "Look into, explain, share and clean the image cache."),
        "base": Entry("base", "Make and inspect the bases that images stand on."),
        "sbom": Entry("sbom", "Print what an image holds, as a CycloneDX SBOM."),
    },
    "Keep house": {
        "doctor": Entry("doctor", "Check this machine, and say how to fix what is wrong."),
        "migrate": Entry("migrate", "Turn free-text install guides into structured steps."),
        "remove": Entry("remove", "Remove a tool that was installed on this host."),
        "completion": Entry("completion", "Print the shell completion script."),
    },
}
COMMANDS: dict[str, Entry] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class ReaderGone(Exception):
    """Whoever read our output (`| head`) has seen enough."""


@contextmanager
def _reader_may_go() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        # click would end with 1, and that is our exit code for bugs.
        raise ReaderGone from error


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = import_module(f"tsandbox.cli.{entry.module}").command
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        # `--help` and `--version` print while the context is made.
        with _reader_may_go():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader_may_go():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from tsandbox.recipe.near import near

            guess = near(args[0], COMMANDS)
            hint = f" Did you mean '{guess}'?" if guess else " `tsandbox --help` lists the commands."
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in section.items()])
