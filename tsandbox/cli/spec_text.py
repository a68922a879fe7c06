"""A ContainerSpec for people: what is installed, from where, and which lines asked for it, on one screen."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import click

from tsandbox.cli.output import safe
from tsandbox.derive import ContainerSpec, spec_object
from tsandbox.derive.context import apt_place
from tsandbox.derive.key import tag_of
from tsandbox.derive.present import limits_object
from tsandbox.printable import escaped
from tsandbox.recipe.actions import AptRepo, Repository

_LABEL = 12
_WIDTH = 72
# A package that many lines ask for must not push the rest off the screen.
_PLACES = 2


def as_text(spec: ContainerSpec, key: str) -> str:
    version = f" {spec.version}" if spec.version else ""
    head = f"{click.style(safe(spec.tool + version), bold=True)}  {safe(spec.source)}"
    return "\n".join([head, *(_line(label, text) for label, text in _rows(spec, key))])


def as_toml(spec: ContainerSpec, *, many: bool) -> str:
    """One document; or one table of a list that goes on, so that all of them together are one document."""
    import tomli_w

    table = _without_nulls(spec_object(spec))
    return escaped(tomli_w.dumps({"spec": [table]}) + "\n" if many else tomli_w.dumps(table))


def _rows(spec: ContainerSpec, key: str) -> Iterator[tuple[str, str]]:
    yield "target", f"{spec.target}, {spec.profile} profile on {spec.base.name}"
    for manager in spec.packages:
        for i, line in enumerate(_packages(spec, manager)):
            yield manager if i == 0 else "", line
    if not spec.packages:
        yield "packages", click.style("none", dim=True)
    for repository in spec.repositories:
        places = _places(spec.origins.get(repository.url, ()))
        yield "repository", f"{safe(_repository(repository))}  {places}".rstrip()
        yield "", f"key {safe(repository.key_url)} with sha256 {repository.key_sha256[:12]}…"
    if others := list(_others(spec)):
        yield "system", ", ".join(others)
    if spec.commands:
        yield "commands", safe(" ".join(spec.commands))
    limits = limits_object(spec.limits)
    yield "network", spec.network
    disk = f", {limits['disk']} disk" if "disk" in limits else ""
    yield (
        "limits",
        f"{limits['memory']} memory, {limits['cpus']} cpus, {limits['pids']} pids, {limits['timeout']} s{disk}",
    )
    yield "image", tag_of(key)
    for note in spec.notes:
        yield "note", safe(note)
    for blocker in spec.blockers:
        yield click.style("blocked", fg="yellow"), safe(blocker.message)


def _packages(spec: ContainerSpec, manager: str) -> Iterator[str]:
    """Packages that the same lines asked for stand together: fifty of them still fit on a screen."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name in spec.packages[manager]:
        together.setdefault(spec.origins.get(f"{manager}:{name}", ()), []).append(name)
    for places, names in together.items():
        *lines, last = wrap(safe(" ".join(names)), _WIDTH, break_long_words=False, break_on_hyphens=False)
        yield from lines
        yield f"{last:32}  {_places(places)}".rstrip()


def _repository(repository: Repository) -> str:
    if not isinstance(repository, AptRepo):
        return repository.url
    suite, components = apt_place(repository)
    return " ".join((repository.url, suite, *components))


def _others(spec: ContainerSpec) -> Iterator[str]:
    for primitive in spec.primitives:
        [(word, value)] = primitive.items()
        match word:
            case "group_add":
                yield safe(f"group {value['group']}")
            case "service_enable" | "service_start":
                yield safe(f"{word.removeprefix('service_')} service {value}")
            case "env_set":
                yield safe(f"env {value['name']}")
            case "file_write":
                yield safe(f"file {value['path']}")


def _places(places: tuple[str, ...]) -> str:
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return click.style(safe(", ".join(places[:_PLACES]) + more), dim=True)


def _line(label: str, text: str) -> str:
    padding = " " * max(1, _LABEL - len(click.unstyle(label)))
    # A note may have lines of its own: they stay in their column.
    return f"  {click.style(label, fg='cyan')}{padding}{text}".replace("\n", "\n" + " " * (_LABEL + 2))


def _without_nulls(value: Any) -> Any:
    """TOML has no null: what is not there is left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
