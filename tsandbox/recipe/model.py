"""A recipe, as read: what it says about itself, its steps with their conditions, and how to verify the result."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from tsandbox.recipe import grammar
from tsandbox.recipe.actions import Action, Carried
from tsandbox.recipe.target import Target
from tsandbox.recipe.when import ALWAYS, When

Names = tuple[str, ...]
ExitCode = Annotated[int, msgspec.Meta(ge=0, le=255)]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A table of a recipe, with a grammar for those of its texts that something depends on."""

    checks: ClassVar[Mapping[str, grammar.Check]] = {}


class Metadata(Section, frozen=True, kw_only=True, omit_defaults=True):
    checks = {
        "name": grammar.name,
        "dependencies": grammar.dependency,
        "runtime_dependencies": grammar.dependency,
        "extra_dependencies": grammar.dependency,
        "extra_runtime_dependencies": grammar.dependency,
        "binaries": grammar.inside_path,
    }

    name: str
    description: str = ""
    homepage: str = ""
    version_format: str = ""
    type: Literal["", "tool", "library"] = ""
    dependencies: Names = ()
    runtime_dependencies: Names = ()
    extra_dependencies: Names = ()
    extra_runtime_dependencies: Names = ()
    supported_os: Names | None = None
    supported_arch: Names | None = None
    supported_libc: Names | None = None
    unsupported_platforms: Names = ()
    unsupported_reason: str = ""
    binaries: Names = ()
    requires_sudo: bool = False
    tier: Annotated[int, msgspec.Meta(ge=0, le=99)] = 0
    llm_validation: str = ""
    curated: bool = False
    satisfies: dict[str, Any] = {}

    def unsupported_on(self, target: Target) -> str | None:
        """Why the recipe says that it does not work there, or None where it does."""
        sides = (
            ("supported_os", self.supported_os, target.os),
            ("supported_arch", self.supported_arch, target.arch),
            ("supported_libc", self.supported_libc, target.libc if target.os == "linux" else None),
        )
        for key, accepted, actual in sides:
            if accepted is not None and actual is not None and actual not in _normal(accepted):
                return self._because(f"{key} = {', '.join(accepted) or 'nothing'}")
        if target.platform in _normal(self.unsupported_platforms):
            return self._because(f"unsupported_platforms holds {target.platform}")
        return None

    def _because(self, rule: str) -> str:
        return f"{rule} ({self.unsupported_reason})" if self.unsupported_reason else rule


class Version(Section, frozen=True, kw_only=True, omit_defaults=True):
    checks = {"pin": grammar.version}

    pin: str = ""
    source: str = ""
    github_repo: str = ""
    tag_prefix: str = ""
    module: str = ""
    formula: str = ""
    cask: str = ""
    tap: str = ""
    fossil_repo: str = ""
    project_name: str = ""
    version_separator: str = ""
    timeline_tag: str = ""
    url: str = ""
    version_path: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An additional command that must succeed and print what is expected."""

    command: str
    pattern: str = ""
    patterns: Names = ()
    exit_code: ExitCode = 0


class Verify(Section, frozen=True, kw_only=True, omit_defaults=True):
    command: str = ""
    pattern: str = ""
    patterns: Names = ()
    exit_code: ExitCode = 0
    mode: str = ""
    reason: str = ""
    version_format: str = ""
    additional: tuple[Check, ...] = ()


class LimitOverrides(Section, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    checks = {"memory": grammar.memory, "disk": grammar.disk}

    memory: str | None = None
    cpus: float | None = None
    pids: int | None = None
    timeout: int | None = None
    # What the installation may write.
    disk: str | None = None


class Sandbox(Section, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`[sandbox]`: what this recipe needs of the container that proves it."""

    checks = {"user": grammar.user}

    network: Literal["none", "egress"] = "none"
    limits: LimitOverrides = LimitOverrides()
    env: dict[str, str] = {}
    user: str | None = None
    profile: Literal["minimal", "full"] | None = None
    allow_run_command: bool = False


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[steps]]` table: the action, its parameters as written, and when it applies."""

    action: str
    params: dict[str, Any]
    does: Action
    when: When = ALWAYS
    note: str = ""
    description: str = ""
    line: int | None = None

    def applies(self, target: Target) -> bool:
        return self.when.matches(target) and self.does.applies_implicitly(self.when).matches(target)


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Metadata
    steps: tuple[Step, ...]
    version: Version = Version()
    verify: Verify = Verify()
    sandbox: Sandbox = Sandbox()
    resources: tuple[dict[str, Any], ...] = ()
    patches: tuple[dict[str, Any], ...] = ()
    # Rules of `validate` that this file silences: id → reason.
    silenced: dict[str, str] = {}
    file: str = "-"

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def dependencies(self) -> Names:
        """Every recipe that this one needs somewhere, in the order that the lists name them, each once."""
        return self._needed_by(self.steps)

    def dependencies_on(self, target: Target) -> Names:
        """Without those of steps that do not apply to the target."""
        return self._needed_by(step for step in self.steps if step.applies(target))

    def _needed_by(self, steps: Iterable[Step]) -> Names:
        meta = self.metadata
        lists = (
            meta.dependencies,
            meta.extra_dependencies,
            meta.runtime_dependencies,
            meta.extra_runtime_dependencies,
            *((name for _, name in step.does.needs()) for step in steps if isinstance(step.does, Carried)),
        )
        return tuple(dict.fromkeys(name for names in lists for name in names))


def _normal(names: Names) -> set[str]:
    aliases = {"x86_64": "amd64", "aarch64": "arm64"}
    return {"/".join(aliases.get(part, part) for part in name.split("/")) for name in names}
