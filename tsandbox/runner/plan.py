"""The plan as the runner reads it: tools in the order of their installation, each with its numbered steps."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tsandbox.runner.failures import StepFailed

# Names and versions become parts of paths.
_SAFE = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9@._+~-]*")


@dataclass(frozen=True, kw_only=True)
class Step:
    number: int
    action: str
    params: Mapping[str, Any]
    line: int | None = None
    source: str | None = None
    url: str | None = None
    checksum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    version: str | None
    steps: Sequence[Step]
    dependencies: Sequence["Tool"] = ()
    binaries: Sequence[str] = ()
    # "main" and "additional" commands, in the order of the recipe.
    verify: Sequence[tuple[str, str]] = ()

    @property
    def directory(self) -> str:
        return f"{self.name}-{self.version or 'unversioned'}"

    def in_order(self) -> Iterator["Tool"]:
        """This tool and all it depends on, dependencies first; one that is needed twice comes twice."""
        for dependency in self.dependencies:
            yield from dependency.in_order()
        yield self


@dataclass(frozen=True, kw_only=True)
class Plan:
    tool: Tool
    os: str
    arch: str
    linux_family: str | None
    versions: Mapping[str, str | None] = field(default_factory=dict)


def parse(raw: Mapping[str, Any]) -> Plan:
    platform = raw.get("platform") or {}
    tool = _tool(raw, count(1))
    return Plan(
        tool=tool,
        os=platform.get("os") or "linux",
        arch=platform.get("arch") or "amd64",
        linux_family=platform.get("linux_family"),
        versions={each.name: each.version for each in tool.in_order()},
    )


def _tool(raw: Mapping[str, Any], numbers: Iterator[int]) -> Tool:
    # The order of these two lines is the numbering: dependencies first.
    dependencies = tuple(_tool(dependency, numbers) for dependency in raw.get("dependencies") or ())
    steps = tuple(_step(step, next(numbers)) for step in raw.get("steps") or ())
    version = raw.get("version") or None
    return Tool(
        name=_safe("tool", raw.get("tool")),
        version=None if version is None else _safe("version", version),
        steps=steps,
        dependencies=dependencies,
        binaries=tuple(each for each in raw.get("binaries") or () if isinstance(each, str)),
        verify=tuple(_verify(raw.get("verify") or {})),
    )


def _step(raw: Mapping[str, Any], number: int) -> Step:
    return Step(
        number=number,
        action=raw["action"],
        params=raw.get("params") or {},
        line=raw.get("line"),
        source=raw.get("source"),
        url=raw.get("url"),
        checksum=raw.get("checksum"),
    )


def _verify(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if command := raw.get("command"):
        yield "main", command
    for check in raw.get("additional") or ():
        if command := check.get("command"):
            yield "additional", command


def _safe(what: str, value: object) -> str:
    if isinstance(value, str) and _SAFE.fullmatch(value):
        return value
    raise StepFailed("invalid", f"the plan's {what} {value!r} cannot be part of a path", param=what)
