"""From a ContainerSpec to a Dockerfile that podman's buildah, docker's classic builder and BuildKit all understand."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsandbox.derive import context, quoting
from tsandbox.derive.spec import ContainerSpec
from tsandbox.recipe.actions import ApkRepo, Repository

if TYPE_CHECKING:
    from jinja2 import Environment


def render(spec: ContainerSpec) -> str:
    """The Dockerfile of `spec`: the same text for every engine, and part of the image's key."""
    text = _templates().get_template(f"{spec.profile}.j2").render(_values(spec))
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip())


def _values(spec: ContainerSpec) -> dict[str, Any]:
    """Plain lists and texts: templates see nothing that they could ask for more."""
    manager = spec.target.package_manager or ""
    return {
        "base": quoting.word(spec.base.image),
        "builder": quoting.word(spec.builder.image),
        "staged": spec.staged,
        "manager": manager,
        "packages": spec.packages.get(manager, ()),
        "repositories": [_repository(each, i) for i, each in enumerate(spec.repositories)],
        "groups": [each.group for each in spec.groups],
        "files": [
            {"source": context.file_source(each.mode, i), "path": each.path} for i, each in enumerate(spec.files)
        ],
        "env": [{"name": each.name, "value": each.value} for each in spec.env],
    }


def _repository(repository: Repository, position: int) -> dict[str, str]:
    return {
        "id": context.repository_id(position),
        "url": repository.url,
        "key_url": repository.key_url,
        "key_sha256": repository.key_sha256.lower(),
        "key_name": context.key_name(repository) if isinstance(repository, ApkRepo) else "",
    }


@cache
def _templates() -> "Environment":
    # jinja2 is the heaviest import of `spec`, and nothing but rendering needs it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from tsandbox.derive.compiled import CompiledTemplates

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        bytecode_cache=CompiledTemplates(),
        undefined=StrictUndefined,
        finalize=quoting.only_ready,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        autoescape=False,  # noqa: S701 - Dockerfiles are not HTML: `only_ready` is what refuses unquoted values
    )
    environment.filters.update(quoting.FILTERS)
    return environment
