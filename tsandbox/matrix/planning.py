"""From recipes and targets to cells: what is run, what is left out and why, and which image each cell needs."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from tsandbox.derive import define_image, derive
from tsandbox.derive.bases import base
from tsandbox.errors import InvalidInput, MissingDependency, NotSupported, Problem, TsandboxError
from tsandbox.matrix.model import Cell, cell_id, cell_name
from tsandbox.plan import Catalog, Plan, load, select
from tsandbox.plan.files import Source
from tsandbox.plan.write import plan_object
from tsandbox.recipe import Recipe, Target, grammar
from tsandbox.recipe.actions import RequireSystem
from tsandbox.report.result import TargetRecord, error_record
from tsandbox.report.run import Excluded, Reason
from tsandbox.sandbox.consent import wishes
from tsandbox.settings import shipped

# Steps that look, note or configure; a recipe of nothing else installs nothing.
_INSTALLS_NOTHING = frozenset(
    {"manual", "require_command", "env_set", "set_env", "group_add", "service_enable", "service_start"}
)


class Planned(Struct, frozen=True, kw_only=True):
    """A cell or its exclusion, with the files that it was made from."""

    cell: Cell | None = None
    excluded: Excluded | None = None
    files: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.cell.id if self.cell else self.excluded.id if self.excluded else ""


def plan_cells(
    sources: Iterable[Source], targets: Sequence[Target], catalog: Catalog, recipes: tuple[str, ...] = ()
) -> Iterator[Planned]:
    """Every recipe on every target. A recipe that cannot be read becomes cells that fail: it is never left out."""
    names: dict[str, str] = {}
    twice: list[Problem] = []
    for source in _distinct(sources):
        recipe = _load(source)
        name = recipe.name if isinstance(recipe, Recipe) else _name_of(source)
        if first := names.get(cell_name(name)):
            twice.append(Problem(source.name, None, "metadata.name", f"{name!r} is the name of {first} too"))
            continue
        names[cell_name(name)] = source.name
        for target in targets:
            record = msgspec.convert(target, TargetRecord, from_attributes=True)
            reference = _reference(source, name)
            cell = Cell(id=cell_id(name, record), tool=name, recipe=reference, target=record, recipes=recipes)
            yield _planned(cell, source, recipe, target, catalog)
    if twice:
        hint = "cells are identified by the recipe's name: rename one, or leave it out"
        raise InvalidInput(str(twice[0]), problems=twice, hint=hint)


def _distinct(sources: Iterable[Source]) -> Iterator[Source]:
    """Each file once: a directory and a recipe in it may both be named."""
    seen: set[tuple[Path | None, str | None]] = set()
    for source in sources:
        place = (source.path and source.path.resolve(), source.version)
        if place not in seen:
            seen.add(place)
            yield source


def _load(source: Source) -> Recipe | InvalidInput:
    try:
        loaded = load(source, only="recipe")
    except InvalidInput as error:
        return error
    assert isinstance(loaded, Recipe)
    return loaded


def _planned(cell: Cell, source: Source, recipe: Recipe | InvalidInput, target: Target, catalog: Catalog) -> Planned:
    if isinstance(recipe, InvalidInput):
        return Planned(cell=_failing(cell, recipe), files=(source.name,))
    try:
        plan = select(recipe, target, version=source.version, catalog=catalog, allow_missing=True)
    except TsandboxError as error:
        return Planned(cell=_failing(cell, error), files=(source.name,))
    files = tuple(dict.fromkeys(part.file for part in plan.with_dependencies()))
    if why := _left_out(plan, target):
        kind, reason = why
        excluded = Excluded(id=cell.id, tool=cell.tool, target=cell.target, kind=kind, reason=reason)
        return Planned(excluded=excluded, files=files)
    return Planned(cell=_with_image(cell, plan, target), files=files)


def _with_image(cell: Cell, plan: Plan, target: Target) -> Cell:
    try:
        spec = derive(plan, target)
        image = define_image(spec)
    except TsandboxError as error:
        return _failing(cell, error)
    if spec.blockers:
        first = spec.blockers[0]
        problem = Problem(first.file or cell.recipe, first.line, "", first.message)
        if first.kind == "missing_dependency":
            return _failing(cell, MissingDependency(first.message, problems=[problem], hint=first.hint))
        return _failing(cell, NotSupported(first.message, hint=first.hint, file=first.file, line=first.line))
    digest = digest_of(image.key, plan)
    return msgspec.structs.replace(cell, key=image.key, image=image.tag, digest=digest, consent=bool(wishes(plan)))


def digest_of(key: str, plan: Plan) -> str:
    """What a cell's result depends on: its image and its plan."""
    return f"sha256:{sha256(msgspec.json.encode((key, plan_object(plan)), order='sorted')).hexdigest()}"


def _failing(cell: Cell, error: TsandboxError) -> Cell:
    return msgspec.structs.replace(cell, error=error_record(error), exit_code=error.exit_code)


def _left_out(plan: Plan, target: Target) -> tuple[Reason, str] | None:
    if plan.unsupported:
        return "unsupported", plan.unsupported
    if reason := _no_base(target.linux_family or "debian", target.arch):
        return "no_base", reason
    if reason := _nothing_installs(plan, target):
        return "no_steps", reason
    return None


def _nothing_installs(plan: Plan, target: Target) -> str | None:
    manager = target.package_manager
    for part in plan.with_dependencies():
        for step in part.steps:
            does = step.does
            # The names alone: reading what each manager installs again for every cell took most of the planning.
            if isinstance(does, RequireSystem) and does.packages is not None and manager not in does.packages:
                has = ", ".join(does.packages) or "nothing"
                return f"{step.place}: no packages for {manager}, only for {has}"
    actions = {step.action for part in plan.with_dependencies() for step in part.steps}
    if not plan.steps:
        return f"no step applies to {target.linux_family}"
    if actions <= _INSTALLS_NOTHING:
        return f"no step installs anything on {target.linux_family}, only: {', '.join(sorted(actions))}"
    return None


@cache
def _no_base(family: str, arch: str) -> str | None:
    try:
        base("builder" if family == "debian" else family, arch)
    except NotSupported as error:
        return error.message
    return None


def _reference(source: Source, name: str) -> str:
    """A shipped recipe lies elsewhere on every machine: its name is what finds it again."""
    where = source.path
    ours = where is not None and where.is_absolute() and where.is_relative_to(shipped("recipes"))
    stem = name if ours else source.name
    return f"{stem}@{source.version}" if source.version else stem


def _name_of(source: Source) -> str:
    """What a recipe that cannot be loaded is called: as it says itself, where that can be read, else as its file."""
    try:
        raw = tomllib.loads((source.path or Path(source.name)).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raw = {}
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and not grammar.name(name) else cell_name(Path(source.name).stem)
