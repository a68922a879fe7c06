"""The spec as plain data, in the shape that scripts rely on."""

from typing import Any

import msgspec

from tsandbox.derive.context import apt_place
from tsandbox.derive.key import SCHEMA, define_image
from tsandbox.derive.spec import ContainerSpec, Limits
from tsandbox.recipe.actions import AptRepo, Repository


def spec_object(spec: ContainerSpec) -> dict[str, Any]:
    image = define_image(spec)
    return {
        "schema": SCHEMA,
        "tool": spec.tool,
        "version": spec.version,
        "source": spec.source,
        "target": msgspec.to_builtins(spec.target),
        "base": msgspec.to_builtins(spec.base),
        "profile": spec.profile,
        "packages": {manager: list(names) for manager, names in spec.packages.items()},
        "repositories": [_repository(each) for each in spec.repositories],
        "primitives": list(spec.primitives),
        "commands": list(spec.commands),
        "notes": list(spec.notes),
        "missing_dependencies": list(spec.missing_dependencies),
        "blockers": [msgspec.to_builtins(each) for each in spec.blockers],
        "network": spec.network,
        "limits": limits_object(spec.limits),
        "dockerfile": image.dockerfile,
        "image": image.tag,
        "key": image.key,
    }


def limits_object(limits: Limits) -> dict[str, Any]:
    cpus = int(limits.cpus) if limits.cpus == int(limits.cpus) else limits.cpus
    return {**msgspec.to_builtins(limits), "cpus": cpus}


def _repository(repository: Repository) -> dict[str, Any]:
    """What is really used: defaults are filled in."""
    made: dict[str, Any] = {"manager": repository.manager, "url": repository.url}
    if isinstance(repository, AptRepo):
        suite, components = apt_place(repository)
        made |= {"suite": suite, "components": list(components)}
    if repository.name is not None:
        made["name"] = repository.name
    return made | {"key_url": repository.key_url, "key_sha256": repository.key_sha256}
