"""A recipe seen from the platforms that it can be read for."""

from collections.abc import Iterator
from functools import lru_cache

from tsandbox.recipe.actions import Action, InstallPackages, RequireSystem
from tsandbox.recipe.decode import Path
from tsandbox.recipe.model import Recipe, Step
from tsandbox.recipe.target import ARCHES, FAMILIES, FAMILY_OF, Gpu, Target, linux
from tsandbox.recipe.when import ALWAYS, When

_LINUX_GPUS: tuple[Gpu, ...] = ("none", "nvidia", "amd", "intel")
_DARWIN_GPUS: tuple[Gpu, ...] = ("none", "apple")

# Every platform that a `when` can tell apart.
TARGETS: tuple[Target, ...] = (
    *(linux(family, arch, gpu) for family in FAMILIES for arch in ARCHES for gpu in _LINUX_GPUS),
    *(Target(os="darwin", arch=arch, gpu=gpu) for arch in ARCHES for gpu in _DARWIN_GPUS),
)
# One platform for each package manager, where nothing else matters.
PLAIN: tuple[Target, ...] = (*(linux(family, "amd64") for family in FAMILIES), Target(os="darwin", arch="arm64"))


def where(step: Step) -> frozenset[int]:
    """The positions in TARGETS of the platforms on which the step applies."""
    return _matching(step.when) & _matching(step.does.applies_implicitly(step.when))


@lru_cache(maxsize=1024)
def _matching(when: When) -> frozenset[int]:
    """Several rules ask this of every step, and most steps share a few conditions."""
    return frozenset(i for i, target in enumerate(TARGETS) if when.matches(target))


def supported(recipe: Recipe) -> frozenset[int]:
    """The positions in TARGETS of the platforms that the recipe itself says it works on."""
    return frozenset(i for i, target in enumerate(TARGETS) if recipe.metadata.unsupported_on(target) is None)


def parts(step: Step) -> Iterator[tuple[Path, Action]]:
    """The single actions of a step with their paths below it: a `require_system` has many, others are one."""
    if not isinstance(step.does, RequireSystem):
        yield (), step.does
        return
    for manager, action in step.does.by_manager().items():
        yield ("packages", manager), action
    for i, primitive in enumerate(step.does.in_order()):
        yield ("primitives", i, primitive.word), primitive


def packages(step: Step) -> Iterator[tuple[Path, InstallPackages]]:
    """Every list of packages in a step, with the path of the list."""
    for path, action in parts(step):
        if isinstance(action, InstallPackages):
            yield _list_path(step, path), action


def installs_on(action: Action, target: Target) -> bool:
    """Whether an action inside a step has something to do on `target`."""
    if isinstance(action, InstallPackages) and action.manager in FAMILY_OF:
        return target.linux_family == FAMILY_OF[action.manager]
    return action.applies_implicitly(ALWAYS).matches(target)


def _list_path(step: Step, path: Path) -> Path:
    """Lists stand bare after their word, or under `packages` in a table."""
    value: object = step.params
    for part in path:
        value = value[part] if isinstance(value, dict | list | tuple) else value  # type: ignore[index]
    return (*path, "packages") if isinstance(value, dict) else path
