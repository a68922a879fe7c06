"""The change to a recipe that declares what was missing: the step that has packages gets one more, or a step is new."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from tsandbox.plan import Plan, PlanStep
from tsandbox.recipe.lines import Array, Lines
from tsandbox.recipe.target import Target
from tsandbox.sandbox.outcome import Advice, Change


def propose(plan: Plan, advice: Sequence[Advice], target: Target) -> Change | None:
    """One change that declares everything for which a package is known, in the recipe whose step lacked it."""
    manager = target.package_manager
    if manager is None:
        return None
    declared = {name for part in plan.with_dependencies() for step in part.steps for name in _declared(step, manager)}
    found = [each for each in advice if each.packages and each.packages[0] not in declared]
    packages = tuple(dict.fromkeys(each.packages[0] for each in found))
    if not packages:
        return None
    part = _part_of(plan, next((each.step for each in found if each.step), None))
    for step in part.steps:
        if _declared(step, manager) and (change := _extended(step, packages, manager)):
            return change
    commands = [each.name for each in found if each.kind == "command"]
    first = part.steps[0] if part.steps else None
    return Change(
        toml=_new_step(packages, target, manager, commands[0] if len(found) == len(commands) == 1 else None),
        file=part.file,
        line=first.line if first else None,
        packages=packages,
    )


def describe(change: Change) -> str:
    if change.line is None:
        return f"{change.file}: in the recipe that this was made from, add a step"
    return f"{change.file}:{change.line}: {'write' if change.replaces else 'add before this step'}"


def _part_of(plan: Plan, number: int | None) -> Plan:
    """The plan, of those that are installed together, whose step has this number."""
    passed = 0
    for part in plan.with_dependencies():
        passed += len(part.steps)
        if number is not None and number <= passed:
            return part
    return plan


def _declared(step: PlanStep, manager: str) -> list[str]:
    """The packages of this manager that the step declares."""
    if step.action == f"{manager}_install":
        return _names(step.params.get("packages"))
    if step.action != "require_system":
        return []
    tables = [step.params.get("packages"), *(step.params.get("primitives") or ())]
    return [name for table in tables if isinstance(table, dict) for name in _names(table.get(manager))]


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return _names(value.get("packages"))
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _extended(step: PlanStep, packages: Sequence[str], manager: str) -> Change | None:
    """The line of the recipe that ends the step's packages, with ours behind them; None where it cannot be told."""
    try:
        text = Path(step.file or "").read_text(encoding="utf-8")
        steps = tomllib.loads(text)["steps"]
    except (OSError, ValueError, KeyError):
        return None
    lines = Lines(text)
    for number, raw in enumerate(steps):
        if lines.of("steps", number) != step.line or raw.get("action") != step.action:
            continue
        for path in _paths(step, manager):
            for place in (("steps", number, *path), ("steps", number, "params", *path)):
                array = lines.array(*place)
                if array and (changed := _inserted(text, array, packages, place)):
                    line = text.count("\n", 0, array.last) + 1
                    return Change(
                        toml=changed, file=step.file or "-", line=line, packages=tuple(packages), replaces=True
                    )
    return None


def _paths(step: PlanStep, manager: str) -> Iterator[tuple[str | int, ...]]:
    """Where in a step its packages can stand."""
    if step.action != "require_system":
        yield ("packages",)
        return
    yield ("packages", manager)
    for position in range(len(step.params.get("primitives") or ())):
        yield ("primitives", position, manager)
        yield ("primitives", position, manager, "packages")


def _inserted(text: str, array: Array, packages: Sequence[str], path: tuple[str | int, ...]) -> str | None:
    """The line in which `array` ends its values as it is to be, in the recipe's layout; read back to be sure."""
    begin = text.rfind("\n", 0, array.last) + 1
    own_lines = begin > array.start
    indent = text[begin : len(text) - len(text[begin:].lstrip(" \t"))]
    comma = f",\n{indent}" if own_lines else ", "
    added = comma.join(f'"{name}"' for name in packages)
    after = f"{text[: array.last]}{'' if array.is_empty else comma}{added}{text[array.last :]}"
    try:
        value: Any = tomllib.loads(after)
        for key in path:
            value = value[key]
    except (ValueError, LookupError, TypeError):
        return None
    end = after.find("\n", array.last + len(after) - len(text))
    return dedent(after[begin : end if end >= 0 else None]) if value[-len(packages) :] == list(packages) else None


def _new_step(packages: Sequence[str], target: Target, manager: str, command: str | None) -> str:
    # Package names hold neither quotes nor backslashes: the loader has checked them, and ours come from Debian.
    names = "[" + ", ".join(f'"{name}"' for name in packages) + "]"
    if not command:
        return "\n".join(("[[steps]]", f'action = "{manager}_install"', f"packages = {names}"))
    return "\n".join((
        "[[steps]]",
        'action = "require_system"',
        f'command = "{command}"',
        f"packages = {{ {manager} = {names} }}",
        # Other families would have to say which package of theirs it is; this proof tells of one.
        f'when = {{ linux_family = "{target.linux_family}" }}',
    ))  # fmt: skip
