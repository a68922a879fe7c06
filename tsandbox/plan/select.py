"""From a recipe to a plan: the steps that apply to a target, with the plans of everything it depends on."""

from tsandbox.errors import MissingDependency, Problem
from tsandbox.plan.catalog import Catalog
from tsandbox.plan.model import Plan, PlanStep, Platform, is_deterministic, is_evaluable
from tsandbox.recipe import Recipe, Step, Target
from tsandbox.recipe.actions import Carried

_DEEPEST = 100


def select(
    recipe: Recipe,
    target: Target,
    *,
    version: str | None = None,
    catalog: Catalog | None = None,
    allow_missing: bool = False,
) -> Plan:
    """The plan of `recipe` on `target`. Each dependency appears once, where it is first needed."""
    return _Selection(target, catalog or Catalog(), allow_missing).plan(recipe, version, (), platform_of(target))


def platform_of(target: Target) -> Platform:
    libc_follows_family = target.libc == ("musl" if target.linux_family == "alpine" else "glibc")
    return Platform(
        os=target.os,
        arch=target.arch,
        linux_family=target.linux_family,
        libc=None if target.linux_family and libc_follows_family else target.libc,
        gpu=target.gpu,
    )


class _Selection:
    """One walk over a recipe and its dependencies; remembers what the plan holds already."""

    def __init__(self, target: Target, catalog: Catalog, allow_missing: bool) -> None:
        self.target = target
        self.catalog = catalog
        self.allow_missing = allow_missing
        self.planned: set[str] = set()

    def plan(self, recipe: Recipe, version: str | None, chain: tuple[str, ...], platform: Platform | None) -> Plan:
        self.planned.add(recipe.name)
        nested: list[Plan] = []
        missing: list[str] = []
        for name in recipe.dependencies_on(self.target):
            found = self._dependency(recipe, name, (*chain, recipe.name))
            if isinstance(found, Plan):
                nested.append(found)
                missing += found.missing_dependencies
            elif found is not None:
                missing.append(found)
        return Plan(
            tool=recipe.name,
            version=version or recipe.version.pin or None,
            steps=tuple(_plan_step(step, recipe) for step in recipe.steps if step.applies(self.target)),
            platform=platform,
            dependencies=tuple(nested),
            verify=recipe.verify,
            sandbox=recipe.sandbox,
            recipe_type=recipe.metadata.type or None,
            binaries=recipe.metadata.binaries,
            file=recipe.file,
            missing_dependencies=tuple(dict.fromkeys(missing)),
            unsupported=recipe.metadata.unsupported_on(self.target),
            version_source=recipe.version,
        )

    def _dependency(self, recipe: Recipe, name: str, chain: tuple[str, ...]) -> Plan | str | None:
        """The nested plan; or None where the plan holds it already; or its name where there is no such recipe."""
        found, version = self._find(name)
        if found is None:
            if self.allow_missing:
                return name
            raise _missing(recipe, name, chain)
        if found.name in chain:
            raise _cycle(recipe, name, (*chain[chain.index(found.name) :], found.name))
        if len(chain) > _DEEPEST:
            raise _cycle(recipe, name, (*chain[:3], "…", found.name))
        if found.name in self.planned:
            return None
        return self.plan(found, version, chain, None)

    def _find(self, name: str) -> tuple[Recipe | None, str | None]:
        # `openssl@3` may be a recipe of that very name; only then is what follows `@` a version.
        if found := self.catalog.find(name):
            return found, None
        bare, _, version = name.partition("@")
        return (self.catalog.find(bare), version) if version else (None, None)


def _plan_step(step: Step, recipe: Recipe) -> PlanStep:
    return PlanStep(
        action=step.action,
        params=step.params,
        does=step.does,
        evaluable=is_evaluable(step.action),
        deterministic=is_deterministic(step.action),
        file=recipe.file,
        line=step.line,
    )


def _missing(recipe: Recipe, name: str, chain: tuple[str, ...]) -> MissingDependency:
    way = " → ".join((*chain, name))
    problem = _problem(recipe, name, f"no recipe is called {name!r} (needed by {way})")
    return MissingDependency(
        str(problem), problems=[problem], hint="name the directory that holds it: --recipes DIR (may be repeated)"
    )


def _problem(recipe: Recipe, name: str, message: str) -> Problem:
    """Where the recipe asks for the dependency: a step of its own, or else its metadata."""
    for i, step in enumerate(recipe.steps):
        if isinstance(step.does, Carried) and any(name == needed for _, needed in step.does.needs()):
            return Problem(recipe.file, step.line, f"steps[{i}]", message)
    return Problem(recipe.file, None, "metadata", message)


def _cycle(recipe: Recipe, name: str, chain: tuple[str, ...]) -> MissingDependency:
    problem = _problem(recipe, name, f"the dependencies form a cycle: {' → '.join(chain)}")
    return MissingDependency(str(problem), problems=[problem], hint="remove one of these dependencies")
