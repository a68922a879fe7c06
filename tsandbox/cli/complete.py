"""What a shell offers while a command line is being written."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_recipes(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":  # noqa: ARG001
    """Recipes by name, beside the files that the shell finds itself."""
    from click.shell_completion import CompletionItem

    from tsandbox.plan import Catalog

    # bash forgets what came before a request for files, so that request comes first.
    files = [CompletionItem(incomplete, type="file")]
    if "/" in incomplete:
        return files
    named = ctx.params.get("recipe_dirs") or ()
    # What cannot be read now is told when the command is run, and not in the middle of typing it.
    directories = [path for path in map(Path, named) if path.is_dir()]
    return files + _starting(incomplete, sorted(Catalog(directories).names()))


def complete_families(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":  # noqa: ARG001
    from tsandbox.recipe.target import FAMILIES

    return _starting(incomplete, (*FAMILIES, "all"))


def complete_arches(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":  # noqa: ARG001
    return _starting(incomplete, ("amd64", "arm64"))


def _starting(incomplete: str, names: Iterable[str]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
