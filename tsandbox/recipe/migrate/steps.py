"""The structured steps that take the place of an install guide."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from tsandbox.recipe.actions import InstallPackages, Manual
from tsandbox.recipe.migrate.guide import Outcome
from tsandbox.recipe.target import ARCHES, FAMILIES, Target


class NewStep(Struct, frozen=True, kw_only=True):
    """The keys that tell one of the new steps from the others."""

    content: dict[str, Any]
    when: dict[str, Any]


def new_steps(outcomes: Iterable[tuple[Target, Outcome]], extra_when: dict[str, Any]) -> list[NewStep]:
    """One step for all plain package lists of an os, one for each other outcome; people's texts come last."""
    lists: dict[tuple[str, str | None], dict[str, tuple[str, ...]]] = {}
    groups: dict[Outcome, list[Target]] = {}
    by_arch = _differ_by_arch(outcomes := list(outcomes))
    listed: dict[tuple[str, str | None], list[Target]] = {}
    for target, outcome in outcomes:
        if _is_list(outcome):
            where = (target.os, target.arch if by_arch else None)
            lists.setdefault(where, {})[outcome[0].word] = outcome[0].packages  # type: ignore[union-attr]
            listed.setdefault(where, []).append(target)
        else:
            groups.setdefault(outcome, []).append(target)
    steps = [
        NewStep(content={"packages": {word: list(names) for word, names in found.items()}}, when=when | extra_when)
        for where, found in lists.items()
        for when in conditions(listed[where])
    ]
    ordered = sorted(groups.items(), key=lambda group: isinstance(group[0][0], Manual))
    for outcome, targets in ordered:
        content = {"primitives": [part.as_primitive() for part in outcome]}
        steps += [NewStep(content=content, when=when | extra_when) for when in conditions(targets)]
    return steps


def _is_list(outcome: Outcome) -> bool:
    """One package manager, nothing but names: `packages` can say it."""
    return len(outcome) == 1 and isinstance(outcome[0], InstallPackages) and outcome[0].tap is None


def _differ_by_arch(outcomes: list[tuple[Target, Outcome]]) -> bool:
    seen: dict[tuple[str, str | None], set[Outcome]] = {}
    for target, outcome in outcomes:
        seen.setdefault((target.os, target.linux_family), set()).add(outcome)
    return any(len(found) > 1 for found in seen.values())


def conditions(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """The `when` tables that together hold on exactly these platforms."""
    pairs: dict[str, dict[str | None, list[str]]] = {}
    for target in targets:
        pairs.setdefault(target.os, {}).setdefault(target.linux_family, []).append(target.arch)
    made = []
    for os, families in pairs.items():
        by_arches: dict[tuple[str, ...], list[str | None]] = {}
        for family, arches in families.items():
            by_arches.setdefault(tuple(arches), []).append(family)
        made += [_condition(os, names, arches) for arches, names in by_arches.items()]
    if {"linux", "darwin"} == set(pairs) and made == [{"os": ["linux"]}, {"os": ["darwin"]}]:
        return [{}]
    return made


def _condition(os: str, families: list[str | None], arches: tuple[str, ...]) -> dict[str, Any]:
    when: dict[str, Any] = {"os": [os]}
    if os == "linux" and len(families) < len(FAMILIES):
        when["linux_family"] = families[0] if len(families) == 1 else families
    if len(arches) < len(ARCHES):
        when["arch"] = arches[0]
    return when
