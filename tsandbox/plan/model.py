"""An installation plan: the steps of a recipe that apply to one platform, with those of everything it needs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tsandbox.recipe.actions import Action
from tsandbox.recipe.model import Sandbox, Verify, Version

FORMAT_VERSION = 5
READ_VERSIONS = (3, 4, 5)

# Steps whose effect is fixed by their parameters alone, and those that can be worked out while planning.
_DETERMINISTIC = frozenset(
    {
        "apply_patch_file",
        "chmod",
        "download_file",
        "env_set",
        "extract",
        "file_write",
        "group_add",
        "homebrew_relocate",
        "install_binaries",
        "install_libraries",
        "link_dependencies",
        "set_env",
        "set_rpath",
        "text_replace",
    }
)
_NOT_EVALUABLE = frozenset({"homebrew_relocate", "set_rpath"})


class Platform(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    os: str
    arch: str
    linux_family: str | None = None
    libc: str | None = None
    gpu: str | None = None


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    action: str
    params: dict[str, Any]
    does: Action
    evaluable: bool
    deterministic: bool
    phase: str | None = None
    url: str | None = None
    checksum: str | None = None
    size: int | None = None
    # Where the step was written, to point people to it.
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        file = self.file or "-"
        return f"{file}:{self.line}" if self.line else file


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    version: str | None
    steps: tuple[PlanStep, ...]
    # Nested plans carry no platform of their own: it is that of the plan around them.
    platform: Platform | None = None
    dependencies: tuple["Plan", ...] = ()
    verify: Verify = Verify()
    sandbox: Sandbox = Sandbox()
    recipe_type: str | None = None
    binaries: tuple[str, ...] = ()
    file: str = "-"
    # Dependencies that no recipe directory holds, and the recipe's own word that it does not work on this platform.
    missing_dependencies: tuple[str, ...] = ()
    unsupported: str | None = None
    # Where the recipe's version comes from, for `--resolve`; a plan that was read from a file has its version.
    version_source: Version = Version()

    @property
    def deterministic(self) -> bool:
        return all(step.deterministic for step in self.steps) and all(plan.deterministic for plan in self.dependencies)

    def with_dependencies(self) -> Iterator["Plan"]:
        """This plan and all nested ones, in the order in which they are installed: what is needed comes first."""
        for plan in self.dependencies:
            yield from plan.with_dependencies()
        yield self

    def declared_env(self) -> dict[str, str]:
        """The variables that the recipes want set in the sandbox; a tool's own hold over those of what it needs."""
        return {name: value for part in self.with_dependencies() for name, value in part.sandbox.env.items()}


def is_deterministic(action: str) -> bool:
    return action in _DETERMINISTIC


def is_evaluable(action: str) -> bool:
    return action in _DETERMINISTIC and action not in _NOT_EVALUABLE
