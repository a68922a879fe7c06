"""From a plan to a ContainerSpec."""

import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tsandbox.derive.bases import Base, base
from tsandbox.derive.effects import Effect, effects
from tsandbox.derive.spec import Blocker, ContainerSpec, Limits, Profile
from tsandbox.errors import NotSupported
from tsandbox.plan import Plan
from tsandbox.plan.target import target_for, unsupported
from tsandbox.recipe.actions import (
    Action,
    EnvSet,
    FileWrite,
    GroupAdd,
    InstallPackages,
    Manual,
    Repository,
    RequireCommand,
    RequireSystem,
    ServiceEnable,
    ServiceStart,
)
from tsandbox.recipe.actions.carried import SOURCE_BUILDS
from tsandbox.recipe.grammar import bytes_in
from tsandbox.recipe.target import Target

T = TypeVar("T", bound=Action)


def derive(plan: Plan, target: Target | None = None, *, profile: Profile | None = None) -> ContainerSpec:
    """The exact environment that `plan` declares for `target` (by default the plan's own)."""
    target = target or target_for(plan)
    if target.os != "linux" or target.linux_family is None:
        raise NotSupported(
            f"{plan.tool}: the sandbox runs Linux, not {target.os}", hint="choose a Linux family", file=plan.file
        )
    found = _repositories_first(list(effects(plan, target)))
    profile = _profile(plan, target, profile)
    return ContainerSpec(
        tool=plan.tool,
        version=plan.version,
        source=plan.file,
        target=target,
        base=_base(target, profile),
        builder=_builder(target),
        profile=profile,
        packages=_packages(found),
        repositories=_all(found, Repository),
        primitives=tuple(_primitives(found)),
        groups=_all(found, GroupAdd),
        env=_last(_in_turn(found, EnvSet), lambda each: each.name),
        files=_last(_in_turn(found, FileWrite), lambda each: each.path),
        commands=tuple(sorted({check.command for check in _all(found, RequireCommand)})),
        notes=tuple(_notes(plan, found)),
        network="egress" if any(part.sandbox.network == "egress" for part in plan.with_dependencies()) else "none",
        limits=_limits(plan),
        missing_dependencies=plan.missing_dependencies,
        blockers=tuple(_blockers(plan, target)),
        origins=_origins(found),
    )


def _repositories_first(found: list[Effect]) -> list[Effect]:
    """The order of the recipe, except that no package is asked for before all repositories are known."""
    first = next((i for i, effect in enumerate(found) if isinstance(effect.does, InstallPackages)), len(found))
    late = [effect for effect in found[first:] if isinstance(effect.does, Repository)]
    rest = [effect for effect in found[first:] if not isinstance(effect.does, Repository)]
    return [*found[:first], *late, *rest]


def _all(found: Iterable[Effect], kind: type[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(_in_turn(found, kind)))


def _in_turn(found: Iterable[Effect], kind: type[T]) -> list[T]:
    return [effect.does for effect in found if isinstance(effect.does, kind)]


def _last(items: Iterable[T], name: Callable[[T], str]) -> tuple[T, ...]:
    """One per name, the last: what is set or written later holds."""
    held: dict[str, T] = {}
    for item in items:
        held.pop(name(item), None)
        held[name(item)] = item
    return tuple(held.values())


def _packages(found: Iterable[Effect]) -> dict[str, tuple[str, ...]]:
    wanted: dict[str, set[str]] = {}
    for effect in found:
        if isinstance(effect.does, InstallPackages):
            wanted.setdefault(effect.does.manager, set()).update(effect.does.packages)
    return {manager: tuple(sorted(names)) for manager, names in sorted(wanted.items())}


def _primitives(found: Iterable[Effect]) -> list[dict[str, Any]]:
    """What changes the image, in order; checks are `commands`, and what only a person can do is a note."""
    changes = (effect.does for effect in found if not isinstance(effect.does, RequireCommand | Manual))
    return [does.as_primitive() for does in dict.fromkeys(changes)]


def _notes(plan: Plan, found: Iterable[Effect]) -> list[str]:
    notes = []
    for effect in found:
        match effect.does:
            case Manual(text=text) if text:
                notes.append(f"by hand: {text}")
            case ServiceEnable(service=name):
                notes.append(f"service {name}: enabled on a real system; a sandbox has no init, so it is recorded only")
            case ServiceStart(service=name):
                notes.append(f"service {name}: started for the time of the verification where the image can run it")
            case _:
                pass
    if _all(found, Repository) and not _packages(found):
        notes.append("repositories are declared, and no package is asked for: they change nothing in a minimal image")
    notes += [f"missing dependency: no recipe is called {name!r}" for name in plan.missing_dependencies]
    notes += [
        f"{part.tool}: not supported here: {part.unsupported}" for part in plan.with_dependencies() if part.unsupported
    ]
    return list(dict.fromkeys(notes))


def _blockers(plan: Plan, target: Target) -> list[Blocker]:
    made = [
        Blocker(
            kind="missing_dependency",
            message=f"{plan.file}: no recipe is called {name!r}, which {plan.tool} depends on",
            hint="name the directory that holds it: --recipes DIR (may be repeated)",
            file=plan.file,
        )
        for name in plan.missing_dependencies
    ]
    made += [
        Blocker(kind="not_supported", message=message, hint=_where_instead(part), file=part.file)
        for part, message in unsupported(plan, target)
    ]
    if not plan.steps and not plan.unsupported:
        made.append(
            Blocker(
                kind="not_supported",
                message=f"{plan.file}: no step of {plan.tool} applies to {target}",
                hint="add a step for that family, or list what is supported in [metadata]",
                file=plan.file,
            )
        )
    return made + _unsandboxable(plan)


def _where_instead(part: Plan) -> str:
    """No family helps where the recipe is for no Linux at all."""
    if part.unsupported and part.unsupported.startswith("supported_os = darwin"):
        return f"the sandbox runs Linux; what a person does on a Mac: tsandbox guide {part.file} --os darwin"
    return "choose another --family or --arch"


def _unsandboxable(plan: Plan) -> list[Blocker]:
    return [
        Blocker(
            kind="not_supported",
            message=f"{step.place}: {step.action}: neither packages nor primitives: it cannot be sandboxed",
            hint="say what installs it, as in packages = { apt = [...] }",
            file=step.file,
            line=step.line,
        )
        for part in plan.with_dependencies()
        for step in part.steps
        if isinstance(step.does, RequireSystem) and step.does.packages is None and step.does.primitives is None
    ]


def _origins(found: Iterable[Effect]) -> dict[str, tuple[str, ...]]:
    places: dict[str, list[str]] = {}
    for effect in found:
        match effect.does:
            case InstallPackages(manager=manager, packages=names):
                asked = [f"{manager}:{name}" for name in names]
            case Repository(url=url):
                asked = [url]
            case _:
                asked = []
        for each in asked:
            places.setdefault(each, []).append(effect.step.place)
    return {name: tuple(dict.fromkeys(each)) for name, each in places.items()}


def _profile(plan: Plan, target: Target, asked: Profile | None) -> Profile:
    # What one part needs a complete Debian for is missing in a minimal image, whoever asked for the image.
    needs_full = any(part.sandbox.profile == "full" for part in plan.with_dependencies())
    chosen = asked or plan.sandbox.profile or ("full" if needs_full else None)
    if chosen == "minimal" and target.linux_family != "debian":
        raise NotSupported(
            f"{plan.tool}: the minimal profile exists for debian only, not for {target.linux_family}",
            hint="use --profile full",
            file=plan.file,
        )
    return chosen or ("minimal" if target.linux_family == "debian" else "full")


def _base(target: Target, profile: Profile) -> Base:
    return base("runtime", target.arch) if profile == "minimal" else _builder(target)


def _builder(target: Target) -> Base:
    family = target.linux_family or "debian"
    return base("builder" if family == "debian" else family, target.arch)


def _limits(plan: Plan) -> Limits:
    compiles = any(step.action in SOURCE_BUILDS for part in plan.with_dependencies() for step in part.steps)
    default = _default_limits()["source" if compiles else "binary"]
    said: dict[str, Any] = {}
    for part in plan.with_dependencies():
        own = msgspec.to_builtins(part.sandbox.limits)
        if part is not plan:
            # It is installed in the same sandbox: what it needs more of is raised, and nothing is lowered for the rest.
            own = {key: value for key, value in own.items() if _is_more(value, said.get(key) or getattr(default, key))}
        said |= own
    return msgspec.structs.replace(default, **said) if said else default


def _is_more(value: str | float, than: str | float | msgspec.UnsetType) -> bool:
    if isinstance(value, str):
        return not isinstance(than, str) or bytes_in(value) > bytes_in(than)
    return not isinstance(than, int | float) or value > than


@cache
def _default_limits() -> dict[str, Limits]:
    facts = tomllib.loads((Path(__file__).parent / "facts.toml").read_text(encoding="utf-8"))
    return {kind: msgspec.convert(values, Limits) for kind, values in facts["limits"].items()}
