"""What the steps of a plan do to an image, step by step, before any of it is put in order."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tsandbox.errors import NotSupported
from tsandbox.plan import Plan, PlanStep
from tsandbox.recipe.actions import (
    ApkInstall,
    ApkRepo,
    AptInstall,
    AptPpa,
    AptRepo,
    BrewCask,
    BrewInstall,
    Carried,
    DnfInstall,
    DnfRepo,
    EnvSet,
    FileWrite,
    GroupAdd,
    InstallPackages,
    Manual,
    PacmanInstall,
    PacmanRepo,
    Primitive,
    Repository,
    RequireCommand,
    RequireSystem,
    ServiceEnable,
    ServiceStart,
    ZypperInstall,
    ZypperRepo,
)
from tsandbox.recipe.target import Target


class Effect(NamedTuple):
    """One primitive with the step that asked for it."""

    does: Primitive
    step: PlanStep


def effects(plan: Plan, target: Target) -> Iterator[Effect]:
    """Every primitive of the plan and its dependencies, in the order of installation, checked against the target."""
    for part in plan.with_dependencies():
        for step in part.steps:
            for primitive in _primitives(step, target):
                refuse_unsuitable(primitive, step, target)
                yield Effect(primitive, step)


def _primitives(step: PlanStep, target: Target) -> Iterable[Primitive]:
    match step.does:
        case RequireSystem() as needed:
            return _expand(needed, step, target)
        case Carried():
            return ()
        case primitive:
            return (primitive,)  # type: ignore[return-value] # every other action is a primitive: see ACTIONS


def _expand(needed: RequireSystem, step: PlanStep, target: Target) -> Iterator[Primitive]:
    if needed.packages is not None:
        manager = target.package_manager or ""
        by_manager = needed.by_manager()
        if manager not in by_manager:
            raise NotSupported(
                f"{step.place}: {step.action}: no packages for {manager} ({target.linux_family}),"
                f" only for {', '.join(by_manager) or 'nothing'}",
                hint=f"add `{manager} = [...]` to packages, or a `when` that leaves {target.linux_family} out",
                file=step.file,
                line=step.line,
            )
        yield by_manager[manager]  # type: ignore[misc] # the managers' classes are all primitives
    yield from needed.in_order()
    if check := needed.check():
        yield check


def refuse_unsuitable(primitive: Primitive, step: PlanStep, target: Target) -> None:
    """A step that cannot apply to the family is an error, never a silent no-op."""
    match primitive:
        case AptInstall() | DnfInstall() | PacmanInstall() | ApkInstall() | ZypperInstall():
            _refuse_other_manager(primitive, step, target)
        case AptRepo() | DnfRepo() | ZypperRepo() | PacmanRepo() | ApkRepo():
            _refuse_other_manager(primitive, step, target)
        case AptPpa():
            raise _unsuitable(
                step, f"the PPA {primitive.ppa} needs an Ubuntu base", "use apt_repo with the archive's url and key"
            )
        case BrewInstall() | BrewCask():
            raise _unsuitable(
                step, "Homebrew cannot be used in the sandbox", 'give the step `when = { os = ["darwin"] }`'
            )
        case GroupAdd() | ServiceEnable() | ServiceStart() | EnvSet() | FileWrite() | RequireCommand() | Manual():
            pass
    if isinstance(primitive, DnfRepo | ZypperRepo) and primitive.url.endswith(".repo"):
        # Whatever such a file holds would be trusted without a checksum.
        raise _unsuitable(step, f"{primitive.url} is a .repo file", "give the repository's base URL instead")


def _refuse_other_manager(does: InstallPackages | Repository, step: PlanStep, target: Target) -> None:
    if does.manager != target.package_manager:
        family = target.linux_family
        raise _unsuitable(
            step,
            f"{does.manager} is not the package manager of {family} (that is {target.package_manager})",
            "give the step a `when` with its own linux_family",
        )


def _unsuitable(step: PlanStep, message: str, hint: str) -> NotSupported:
    return NotSupported(f"{step.place}: {step.action}: {message}", hint=hint, file=step.file, line=step.line)
