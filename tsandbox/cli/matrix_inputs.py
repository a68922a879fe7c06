"""What the commands of the matrix share: which recipes, on which targets, minus what."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from tsandbox.cli.inputs import catalog_for, chosen_families, recipes_option, sources
from tsandbox.errors import UsageError
from tsandbox.matrix.assemble import Wishes, default_exclusions, make_plan
from tsandbox.matrix.durations import Durations, read_durations
from tsandbox.matrix.exclusions import DEFAULT_NAME, read_exclusions
from tsandbox.matrix.model import MatrixPlan
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source, exists, files_below
from tsandbox.recipe import Target, linux
from tsandbox.recipe.target import ARCHES, FAMILIES, host_arch, normal_arch
from tsandbox.settings import shipped

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, file_okay=False)


class Wanted(NamedTuple):
    """The options that decide which cells there are."""

    inputs: tuple[str, ...]
    families: tuple[str, ...]
    arches: tuple[str, ...]
    recipe_dirs: tuple[Path, ...]
    exclusion_files: tuple[Path, ...]


def selection_options(function: F) -> F:
    """`--family`, `--arch` (several each), `--recipes` and `--exclusions`."""
    function = click.option(
        "--exclusions",
        "exclusion_files",
        multiple=True,
        type=FILE,
        metavar="FILE",
        help=f"Cells to leave out, with reason, owner and expiry; {DEFAULT_NAME} in a recipe directory is found.",
    )(function)
    function = recipes_option(function)
    function = click.option(
        "--arch",
        "arches",
        multiple=True,
        metavar="ARCH",
        help=f"{', '.join(ARCHES)}, or all; may be repeated. By default this machine's.",
    )(function)
    return click.option(
        "--family",
        "families",
        multiple=True,
        metavar="FAMILY",
        help=f"Linux family: {', '.join(FAMILIES)}, or all; may be repeated. By default debian.",
    )(function)


def targets_of(wanted: Wanted, only: tuple[str, ...] = ()) -> list[Target]:
    """Families × architectures; where nobody named any, those that the wanted cells name."""
    if only and not wanted.families and not wanted.arches:
        everywhere = [linux(family, arch) for family in FAMILIES for arch in ARCHES]
        named = [target for target in everywhere if any(cell.endswith(_suffix(target)) for cell in only)]
        return named or [linux()]
    families = [family or "debian" for family in chosen_families(wanted.families)]
    return [linux(family, arch) for family in families for arch in chosen_arches(wanted.arches)]


def chosen_arches(arches: tuple[str, ...]) -> tuple[str, ...]:
    names = [name for each in arches for name in each.split(",") if name]
    if "all" in names:
        return ARCHES
    return tuple(dict.fromkeys(normal_arch(name) for name in names)) or (host_arch(),)


def planned(
    wanted: Wanted,
    *,
    only: tuple[str, ...] = (),
    changed_since: str | None = None,
    durations: Path | None = None,
    shards: int | None = None,
    max_jobs: int | None = None,
) -> MatrixPlan:
    from tsandbox.matrix.changes import changes_since

    catalog = catalog_for(wanted.inputs, wanted.recipe_dirs)
    beside = tuple(name for name in wanted.inputs if Path(name).is_dir())
    files = wanted.exclusion_files or tuple(default_exclusions(beside, DEFAULT_NAME))
    today = dt.datetime.now(dt.UTC).date()
    wishes = Wishes(
        exclusions=tuple(entry for file in files for entry in read_exclusions(file, today)),
        changes=changes_since(changed_since, _somewhere_in(wanted.inputs), files) if changed_since else None,
        durations=read_durations(durations) if durations and durations.exists() else Durations(),
        shards=shards,
        max_jobs=max_jobs,
        # The shipped ones are looked up anyway, wherever they lie.
        recipes=tuple(
            name
            for name in dict.fromkeys((*map(str, wanted.recipe_dirs), *beside))
            if Path(name).resolve() != shipped("recipes").resolve()
        ),
    )
    return make_plan(_recipes(wanted.inputs, catalog), targets_of(wanted, only), catalog, wishes)


def _recipes(names: tuple[str, ...], catalog: Catalog) -> Iterator[Source]:
    for name in names:
        if name == "-":
            raise UsageError("a matrix is made from files, not from standard input: its cells are run again by name")
        if Path(name).is_dir():
            yield from (Source(str(path), path) for path in files_below(Path(name), [".toml"]))
        else:
            yield from (_there(source) for source in sources([name], catalog))


def _there(source: Source) -> Source:
    """A recipe that cannot be read becomes a cell that fails; a name of nothing is a mistake of whoever typed it."""
    if source.path is not None and not exists(source.path):
        raise UsageError(f"{source.name}: no such file or directory", file=source.name)
    return source


def _somewhere_in(names: tuple[str, ...]) -> Path:
    """A directory of the checkout that holds the recipes."""
    for name in names:
        path = Path(name)
        if path.exists():
            return path if path.is_dir() else path.parent
    return Path()


def _suffix(target: Target) -> str:
    return f"-{target.os}-{target.linux_family}-{target.arch}"
