"""The real prover: a cell's recipe is planned again here, compared with what was planned, and run in the sandbox."""

from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tsandbox.derive import define_image, derive
from tsandbox.engine import Engine, connect
from tsandbox.errors import InvalidInput, MissingDependency, NotSupported, TsandboxError
from tsandbox.matrix.model import Cell
from tsandbox.matrix.planning import digest_of
from tsandbox.plan import Catalog, Plan, load, select
from tsandbox.plan.files import Source, find_sources
from tsandbox.recipe import Recipe, Target, linux
from tsandbox.report.outcome import result_of
from tsandbox.report.result import Result, from_error
from tsandbox.sandbox import RunOptions, prove
from tsandbox.sandbox.consent import wishes


class SandboxProver(Struct, frozen=True, kw_only=True):
    """Called in worker processes and on other machines, so it holds nothing but data."""

    engine: str | None = None
    # The user agrees to what recipes want beyond installing files.
    yes: bool = False
    # By cell: plans that travel with the prover to machines that do not have the recipes.
    plans: dict[str, Plan] = {}
    # By cell: why it could not be planned when the prover set out.
    refused: dict[str, Result] = {}

    def __call__(self, cell: Cell) -> Result:
        if cell.id in self.refused:
            return self.refused[cell.id]
        target = _target(cell)
        plan = self.plans.get(cell.id) or self._agreed(cell, target)
        options = RunOptions(allow_run_command=self.yes)
        result = result_of(prove(plan, target, options, engine=_engine(self.engine)))
        # What finding an image took says nothing about what building it takes.
        return replace(result, build_ms=None) if result.cached else result

    def carrying(self, cells: tuple[Cell, ...]) -> "SandboxProver":
        """The same prover with the plans of these cells."""
        plans: dict[str, Plan] = {}
        refused: dict[str, Result] = {}
        for cell in cells:
            try:
                plans[cell.id] = self._agreed(cell, _target(cell))
            except TsandboxError as error:
                refused[cell.id] = from_error(error)
        return replace(self, plans=plans, refused=refused)

    def _agreed(self, cell: Cell, target: Target) -> Plan:
        plan = plan_of(cell, target)
        if self.yes or not (wanted := wishes(plan)):
            return plan
        raise NotSupported(
            f"{plan.tool}: the recipe wants what needs your consent",
            hint="look at it, then agree with: tsandbox matrix run --yes",
            file=plan.file,
            details=wanted,
        )


def _target(cell: Cell) -> Target:
    return linux(cell.target.linux_family or "debian", cell.target.arch)


def plan_of(cell: Cell, target: Target) -> Plan:
    """The cell's plan from its recipe, which must say what it said when the matrix was planned."""
    source, recipe = _recipe_of(cell)
    plan = select(recipe, target, version=source.version, catalog=_catalog(cell))
    if digest_of(define_image(derive(plan, target)).key, plan) != cell.digest:
        raise InvalidInput(
            f"{cell.recipe}: not what the matrix was planned with: the recipe, what it needs, or tsandbox differs",
            file=cell.recipe,
            hint="plan again with this state: tsandbox matrix plan",
        )
    return plan


def _recipe_of(cell: Cell) -> tuple[Source, Recipe]:
    [source] = find_sources([cell.recipe])
    if source.path is not None and source.path.is_file():
        loaded = load(source, only="recipe")
        assert isinstance(loaded, Recipe)
        return source, loaded
    found = _catalog(cell).find(source.name)
    if found is None:
        raise MissingDependency(
            f"{cell.recipe}: no such recipe on this machine",
            file=cell.recipe,
            hint="run the plan in the directory where it was made, with the same recipes in it",
        )
    return source, found


def _catalog(cell: Cell) -> Catalog:
    beside = Path(cell.recipe).parent
    return _cached_catalog((*cell.recipes, *([str(beside)] if str(beside) != "." else [])))


@cache
def _cached_catalog(directories: tuple[str, ...]) -> Catalog:
    return Catalog(map(Path, directories))


@cache
def _engine(name: str | None) -> Engine:
    return connect(name)
