"""The files that a build needs beside its Dockerfile: their content, mode and place in the build context."""

from functools import cache
from pathlib import PurePosixPath

from msgspec import Struct

from tsandbox.derive import bases
from tsandbox.derive.quoting import refuse_breaks
from tsandbox.derive.spec import ContainerSpec
from tsandbox.errors import NotSupported
from tsandbox.recipe import grammar
from tsandbox.recipe.actions import ApkRepo, AptRepo, DnfRepo, PacmanRepo, Repository, ZypperRepo

_ENDINGS = {"apt": "sources", "dnf": "repo", "zypper": "repo", "pacman": "conf"}


class ContextFile(Struct, frozen=True, kw_only=True):
    content: bytes
    mode: int = 0o644


def context_files(spec: ContainerSpec) -> dict[str, ContextFile]:
    """Path in the context → file. The path of a written file holds its mode, so that the mode is part of the key."""
    minimal = spec.profile == "minimal"
    files = {
        repository_source(repository, i): ContextFile(content=repository_file(repository, i).encode())
        for i, repository in enumerate(spec.repositories)
        if not isinstance(repository, ApkRepo) and (spec.packages or not minimal)
    }
    for i, file in enumerate(spec.files):
        files[file_source(file.mode, i)] = ContextFile(content=file.content.encode(), mode=int(file.mode, 8))
    if spec.staged:
        files |= _closure_scripts()
    return files


def repository_id(position: int) -> str:
    """Our own name for a repository: no text of a recipe becomes part of a path."""
    return f"tsandbox-{position + 1}"


def repository_source(repository: Repository, position: int) -> str:
    """Named as the package manager wants it, because the directory is copied as it is."""
    return f"repositories/{repository_id(position)}.{_ENDINGS[repository.manager]}"


def file_source(mode: str, position: int) -> str:
    return f"files/{int(mode, 8):04o}/{position + 1}"


def repository_file(repository: Repository, position: int) -> str:
    """The package manager's own description of a repository."""
    lines = _repository_lines(repository, repository_id(position))
    for line in lines:
        refuse_breaks(line)
    return "".join(f"{line}\n" for line in lines)


def _repository_lines(repository: Repository, name: str) -> tuple[str, ...]:
    match repository:
        case AptRepo():
            return _deb822(repository, name)
        case PacmanRepo():
            head = f"[{pacman_name(repository)}]"
            return head, "SigLevel = Required DatabaseOptional", f"Server = {repository.url}"
        case DnfRepo() | ZypperRepo():
            return _repo_file(repository, name)
        case _:
            raise NotSupported(f"{repository.manager} repositories have no description file")


def pacman_name(repository: PacmanRepo) -> str:
    """pacman asks the server for NAME.db, so the name cannot be ours."""
    guess = repository.name or PurePosixPath(repository.url.split("://", 1)[1].rstrip("/")).name
    if grammar.repository_name(guess):
        raise NotSupported(f"the pacman repository {repository.url} needs a name", hint='add name = "…" to it')
    return guess


def key_name(repository: Repository) -> str:
    """apk looks keys up by file name: the one that the repository published it under."""
    name = PurePosixPath(repository.key_url.split("://", 1)[1]).name
    if grammar.key_file(name):
        raise NotSupported(
            f"the key's URL {repository.key_url} does not end with a key file's name",
            hint="apk needs the name that the repository's signature uses, such as …/alpine@example.rsa.pub",
        )
    return name


def apt_place(repository: AptRepo) -> tuple[str, tuple[str, ...]]:
    """Suite and components, with what apt would have to be told when the recipe does not say."""
    suite = repository.suite or bases.default_suite()
    return suite, () if suite.endswith("/") else repository.components or ("main",)


def _deb822(repository: AptRepo, name: str) -> tuple[str, ...]:
    suite, components = apt_place(repository)
    return (
        "Types: deb",
        f"URIs: {repository.url}",
        f"Suites: {suite}",
        *((f"Components: {' '.join(components)}",) if components else ()),
        f"Signed-By: /etc/apt/keyrings/{name}.asc",
    )


def _repo_file(repository: Repository, name: str) -> tuple[str, ...]:
    return (
        f"[{name}]",
        f"name={repository.name or name}",
        f"baseurl={repository.url}",
        "enabled=1",
        "gpgcheck=1",
        f"gpgkey=file:///etc/pki/rpm-gpg/{name}.key",
    )


@cache
def _closure_scripts() -> dict[str, ContextFile]:
    return {path: ContextFile(content=content) for path, content in bases.closure_files().items()}
