"""The change to a recipe that declares what was missing: the step that has packages gets one more, or a step is new."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tsandbox.plan import Plan, PlanStep
from tsandbox.recipe.lines import Lines
from tsandbox.recipe.target import Target
from tsandbox.sandbox.outcome import Advice, Change


def propose(plan: Plan, advice: Sequence[Advice], target: Target) -> Change | None:
    """One change that declares everything for which a package is known."""
    found = [each for each in advice if each.packages]
    packages = tuple(dict.fromkeys(each.packages[0] for each in found))
    manager = target.package_manager
    if not packages or manager is None:
        return None
    for step in plan.steps:
        if change := _extended(step, packages, manager):
            return change
    commands = [each.name for each in found if each.kind == "command"]
    first = plan.steps[0] if plan.steps else None
    return Change(
        toml=_new_step(packages, manager, commands[0] if len(found) == len(commands) == 1 else None),
        file=plan.file,
        line=first.line if first else None,
        packages=packages,
    )


def describe(change: Change) -> str:
    place = f"{change.file}:{change.line}" if change.line else change.file
    how = "write" if change.replaces else "add before this step"
    return f"{place}: {how}"


def _extended(step: PlanStep, packages: Sequence[str], manager: str) -> Change | None:
    """The step's own line with the packages added, where the step declares packages for this manager."""
    held = _declared(step, manager)
    if held is None:
        return None
    key, index = ("primitives", _position(step, manager)) if "primitives" in step.params else ("packages", None)
    added = [*held, *(package for package in packages if package not in held)]
    return Change(
        toml=_line(step, key, manager, added),
        file=step.file or "-",
        line=_line_number(step, key, index),
        packages=tuple(packages),
        replaces=True,
    )


def _declared(step: PlanStep, manager: str) -> list[str] | None:
    if step.action == f"{manager}_install":
        return _names(step.params.get("packages"))
    if step.action != "require_system":
        return None
    if isinstance(by_manager := step.params.get("packages"), dict) and manager in by_manager:
        return _names(by_manager[manager])
    position = _position(step, manager)
    return None if position is None else _names(step.params["primitives"][position][manager])


def _position(step: PlanStep, manager: str) -> int | None:
    primitives = step.params.get("primitives") or ()
    return next((i for i, each in enumerate(primitives) if isinstance(each, dict) and manager in each), None)


def _names(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _names(value.get("packages"))
    return [str(each) for each in value] if isinstance(value, list | tuple) else None


def _line(step: PlanStep, key: str, manager: str, packages: Sequence[str]) -> str:
    if key == "primitives":
        return f"{{ {manager} = {_list(packages)} }},"
    if step.action != "require_system":
        return f"packages = {_list(packages)}"
    by_manager = {**step.params["packages"], manager: list(packages)}
    inside = ", ".join(f"{name} = {_list(_names(value) or [])}" for name, value in by_manager.items())
    return f"packages = {{ {inside} }}"


def _list(names: Sequence[str]) -> str:
    # Package names hold neither quotes nor backslashes: the loader has checked them, and ours come from Debian.
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _new_step(packages: Sequence[str], manager: str, command: str | None) -> str:
    if command:
        return "\n".join(
            (
                "[[steps]]",
                'action = "require_system"',
                f'command = "{command}"',
                f"packages = {{ {manager} = {_list(packages)} }}",
            )
        )
    return "\n".join(("[[steps]]", f'action = "{manager}_install"', f"packages = {_list(packages)}"))


def _line_number(step: PlanStep, key: str, index: int | None) -> int | None:
    """The line of the packages themselves, where the recipe can be read; the line of the step otherwise."""
    try:
        lines = Lines(Path(step.file or "").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return step.line
    for number in range(1000):
        line = lines.of("steps", number)
        if line is None or (step.line is not None and line > step.line):
            break
        if line == step.line:
            path: tuple[str | int, ...] = ("steps", number, key) if index is None else ("steps", number, key, index)
            return lines.of(*path)
    return step.line
