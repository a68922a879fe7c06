"""A ContainerSpec: everything that an image must hold for a plan to install in it, and how it may run."""

from typing import Any, Literal

import msgspec

from tsandbox.derive.bases import Base
from tsandbox.recipe.actions import EnvSet, FileWrite, GroupAdd, Repository
from tsandbox.recipe.target import Target

Profile = Literal["minimal", "full"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    memory: str
    cpus: float
    pids: int
    timeout: int
    # Where the recipe says nothing, the sandbox has a limit of its own.
    disk: str | msgspec.UnsetType = msgspec.UNSET


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """Why an image must not be built, although the spec can be shown: `kind` decides the exit code."""

    kind: Literal["missing_dependency", "not_supported"]
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None


class ContainerSpec(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    version: str | None
    source: str
    target: Target
    base: Base
    # The stage that installs packages: it is not part of a minimal image, but what comes out of it is.
    builder: Base
    profile: Profile
    packages: dict[str, tuple[str, ...]]
    repositories: tuple[Repository, ...]
    primitives: tuple[dict[str, Any], ...]
    groups: tuple[GroupAdd, ...]
    env: tuple[EnvSet, ...]
    files: tuple[FileWrite, ...]
    commands: tuple[str, ...]
    notes: tuple[str, ...]
    network: Literal["none", "egress"]
    limits: Limits
    missing_dependencies: tuple[str, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    # "apt:jq", or a repository's URL → the places that asked for it, for people; not part of the contract.
    origins: dict[str, tuple[str, ...]] = {}

    @property
    def staged(self) -> bool:
        """Put together in a builder stage, of which the image gets only what came out."""
        return self.profile == "minimal" and bool(self.packages or self.groups)

    @property
    def stands_on(self) -> tuple[Base, ...]:
        """The bases that its Dockerfile names: an engine must have them all before it builds."""
        return (self.base, self.builder) if self.staged else (self.base,)
