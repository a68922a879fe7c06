"""What the arguments of a command name: files, directories, standard input, or a recipe by its name."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from tsandbox.cli.complete import complete_arches, complete_families
from tsandbox.errors import InvalidInput, Problem, UsageError
from tsandbox.plan import Catalog, Plan, load, select
from tsandbox.plan.files import Kind, Source, exists, find_sources, is_dir, shown
from tsandbox.plan.target import target_for
from tsandbox.recipe import Recipe, Target, linux
from tsandbox.recipe.target import FAMILIES

F = TypeVar("F", bound=Callable[..., Any])


class Chosen(NamedTuple):
    """One input for one target."""

    plan: Plan
    target: Target


def recipes_option(function: F) -> F:
    return click.option(
        "--recipes",
        "recipe_dirs",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Where dependencies are looked up first; may be repeated.",
    )(function)


def target_options(function: F) -> F:
    """`--family` (several) and `--arch`."""
    function = click.option(
        "--arch",
        metavar="ARCH",
        shell_complete=complete_arches,
        help="amd64 or arm64; by default this machine's.",
    )(function)
    return click.option(
        "--family",
        "families",
        multiple=True,
        metavar="FAMILY",
        shell_complete=complete_families,
        help=f"Linux family: {', '.join(FAMILIES)}, or all; may be repeated. By default debian, or the plan's own.",
    )(function)


def chosen_families(families: Iterable[str]) -> tuple[str | None, ...]:
    names = [name for each in families for name in each.split(",") if name]
    if "all" in names:
        return FAMILIES
    for name in names:
        if name not in FAMILIES:
            raise UsageError(f"unknown Linux family {name!r}", hint=f"one of: {', '.join(FAMILIES)}, or all")
    return tuple(dict.fromkeys(names)) or (None,)


def catalog_for(names: Iterable[str], recipe_dirs: Iterable[Path]) -> Catalog:
    """`--recipes` first, then the directories of the inputs, then the shipped recipes."""
    beside = [path if is_dir(path) else path.parent for path in map(Path, names) if str(path) != "-"]
    return Catalog([*recipe_dirs, *(directory for directory in beside if str(directory) != "." or _has_recipes())])


def sources(names: Iterable[str], catalog: Catalog) -> Iterator[Source]:
    """The inputs that the arguments name; a bare word that is no file is a recipe's name."""
    for source in find_sources(names):
        found = _by_name(source, catalog)
        yield found or source


def choose(
    source: Source,
    catalog: Catalog,
    *,
    family: str | None,
    arch: str | None,
    allow_missing: bool,
    only: Kind | None = None,
) -> Chosen:
    """Load an input and select what applies to the target."""
    loaded = load(source, only=only)
    target = target_of(loaded, family=family, arch=arch)
    return Chosen(plan_of(loaded, source, catalog, target, allow_missing=allow_missing), target)


def target_of(loaded: Recipe | Plan, *, family: str | None, arch: str | None) -> Target:
    if isinstance(loaded, Plan):
        return target_for(loaded, family=family, arch=arch)
    return linux(family or "debian", arch)


def plan_of(loaded: Recipe | Plan, source: Source, catalog: Catalog, target: Target, *, allow_missing: bool) -> Plan:
    if isinstance(loaded, Plan):
        return loaded
    return select(loaded, target, version=checked_version(source), catalog=catalog, allow_missing=allow_missing)


def checked_version(source: Source) -> str | None:
    from tsandbox.recipe import grammar

    if source.version is not None and (message := grammar.version(source.version)):
        raise UsageError(f"{source.name}@{source.version}: {message}")
    return source.version


def _by_name(source: Source, catalog: Catalog) -> Source | None:
    path = source.path
    if path is None or path.suffix or path.parent != Path() or exists(path):
        return None
    found = catalog.names().get(source.name)
    if found is None:
        from tsandbox.recipe.near import did_you_mean

        guess = did_you_mean(source.name, catalog.names())
        problem = Problem(source.name, None, "", f"no such file, and no recipe is called that{guess}")
        raise InvalidInput(str(problem), problems=[problem], hint="tsandbox list shows the recipes")
    return Source(shown(str(found)), found, source.version)


def _has_recipes() -> bool:
    return any(Path().glob("*.toml"))
