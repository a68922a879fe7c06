"""Which target a plan is for, and whether the one that was asked for agrees with it."""

from collections.abc import Iterator

import msgspec

from tsandbox.errors import NotSupported
from tsandbox.plan.model import Plan
from tsandbox.recipe.target import Target, linux, normal_arch


def target_for(plan: Plan, *, family: str | None = None, arch: str | None = None) -> Target:
    """The plan's own platform, completed by what was asked for; a contradiction is an error."""
    platform = plan.platform
    if platform is None:
        return linux(family or "debian", arch)
    if platform.os != "linux":
        raise NotSupported(
            f"{plan.file}: the plan is for {platform.os}/{platform.arch}, and the sandbox runs Linux",
            hint=f"`tsandbox guide` tells a person what to do on {platform.os}",
            file=plan.file,
        )
    if family and platform.linux_family and family != platform.linux_family:
        raise _contradiction(plan, "linux_family", platform.linux_family, family)
    if arch and normal_arch(arch) != normal_arch(platform.arch):
        raise _contradiction(plan, "arch", platform.arch, arch)
    made = linux(platform.linux_family or family or "debian", platform.arch)
    said = {"libc": platform.libc, "gpu": platform.gpu}
    return msgspec.structs.replace(made, **{key: value for key, value in said.items() if value})


def refuse_unsupported(plan: Plan, target: Target) -> None:
    """A recipe that says it does not work there, the plan's own or one that it needs, is an error."""
    for part, message in unsupported(plan, target):
        raise NotSupported(message, file=part.file)


def unsupported(plan: Plan, target: Target) -> Iterator[tuple[Plan, str]]:
    """The parts of the plan that do not work on the target by their own word, each with the sentence that says so."""
    for part in plan.with_dependencies():
        if part.unsupported:
            needed = "" if part is plan else f", which {plan.tool} needs,"
            yield part, f"{part.file}: {part.tool}{needed} is not supported on {target}: {part.unsupported}"


def _contradiction(plan: Plan, key: str, planned: str, asked: str) -> NotSupported:
    return NotSupported(
        f"{plan.file}: the plan was made for {key} {planned}, not {asked}",
        hint="make a plan for that target from the recipe: tsandbox plan RECIPE",
        file=plan.file,
    )
