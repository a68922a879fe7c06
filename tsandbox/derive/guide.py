"""Instructions for a person, from the same steps that an image is derived from."""

from collections.abc import Iterable, Iterator

from tsandbox.derive.guide_system import Instruction, for_primitive
from tsandbox.derive.guide_tools import for_carried, for_verify, is_done_by
from tsandbox.errors import NotSupported
from tsandbox.plan import Plan, PlanStep
from tsandbox.plan.target import refuse_unsupported
from tsandbox.recipe.actions import Carried, Primitive, RequireSystem
from tsandbox.recipe.target import Target

__all__ = ["Instruction", "guide", "guide_text"]


def guide(plan: Plan, target: Target) -> tuple[Instruction, ...]:
    """What a person on `target` does, in order, each thing once: what the tool depends on, the tool, and the check."""
    refuse_unsupported(plan, target)
    found = [each for part in plan.with_dependencies() for each in _part(part, target)]
    if not found:
        raise NotSupported(
            f"{plan.file}: no step of {plan.tool} applies to {target}",
            hint="add a step for that platform, or list what is supported in [metadata]",
            file=plan.file,
        )
    return tuple(dict.fromkeys([*found, *for_verify(plan.verify, plan.version)]))


def guide_text(instructions: Iterable[Instruction]) -> str:
    """Numbered, with every command on lines of its own so that it can be copied."""
    blocks = []
    for number, each in enumerate(instructions, 1):
        lines = [f"{number}. {_indented(each.text)}", *(f"\n       {_indented(line, 7)}" for line in each.commands)]
        lines += [f"\n   {_indented(each.note)}"] if each.note else []
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _indented(text: str, width: int = 3) -> str:
    return text.strip("\n").replace("\n", "\n" + " " * width)


def _part(plan: Plan, target: Target) -> Iterator[Instruction]:
    for step in plan.steps:
        match step.does:
            case Carried() as carried if is_done_by(carried, (each.action for each in plan.steps)):
                continue
            case Carried() as carried:
                yield from for_carried(carried, plan, target)
            case RequireSystem() as needed:
                yield from _required(needed, step, target)
            case primitive:
                yield for_primitive(primitive, target)  # type: ignore[arg-type] # all others are primitives


def _required(needed: RequireSystem, step: PlanStep, target: Target) -> Iterator[Instruction]:
    for primitive in _wanted(needed, target):
        yield for_primitive(primitive, target)
    if not _wanted(needed, target):
        what = needed.command or "what the recipe needs"
        yield Instruction(text=f"Install {what}: the recipe does not say how on {target}.", note=f"See {step.place}.")
    if needed.note:
        yield Instruction(text=needed.note)
    if check := needed.check():
        yield for_primitive(check, target)


def _wanted(needed: RequireSystem, target: Target) -> list[Primitive]:
    if needed.packages is None:
        return needed.in_order()
    managers = ("brew", "brew_cask") if target.os == "darwin" else (target.package_manager,)
    return [action for manager, action in needed.by_manager().items() if manager in managers]  # type: ignore[misc]
