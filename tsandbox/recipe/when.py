"""Conditions under which a step applies."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from msgspec import Struct

from tsandbox.recipe.near import did_you_mean
from tsandbox.recipe.target import ARCHES, FAMILIES, Gpu, Libc, Manager, Os, Target

_PLATFORMS = tuple(f"{os}/{arch}" for os in get_args(Os) for arch in ARCHES)
_ALIASES = {"x86_64": "amd64", "aarch64": "arm64"}

# Key → the values that it takes. `platform` is "os/arch".
VALUES: dict[str, tuple[str, ...]] = {
    "os": get_args(Os),
    "arch": ARCHES,
    "platform": _PLATFORMS,
    "linux_family": FAMILIES,
    "libc": get_args(Libc),
    "gpu": get_args(Gpu),
    "package_manager": get_args(Manager),
}


class When(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Each key holds the values it accepts; an empty one says nothing about that key."""

    os: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    platform: tuple[str, ...] = ()
    linux_family: tuple[str, ...] = ()
    libc: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    package_manager: tuple[str, ...] = ()

    def matches(self, target: Target) -> bool:
        if self.platform:
            return target.platform in self.platform
        return (
            _allows(self.os, target.os)
            and _allows(self.arch, target.arch)
            and _allows(self.linux_family, target.linux_family)
            # macOS has one libc: a condition on it says nothing there.
            and (target.os != "linux" or _allows(self.libc, target.libc))
            and _allows(self.gpu, target.gpu or "none")
            and _allows(self.package_manager, target.package_manager)
        )

    def __str__(self) -> str:
        parts = [(key, getattr(self, key)) for key in VALUES]
        return ", ".join(f"{key} = {' or '.join(values)}" for key, values in parts if values)


ALWAYS = When()


def only(family: str) -> When:
    return When(os=("linux",), linux_family=(family,))


def parse_when(raw: object) -> tuple[When, list[tuple[str, str]]]:
    """A `when` table as written, with every fault in it as (path below `when`, message)."""
    if not isinstance(raw, Mapping):
        return ALWAYS, [("", f'expected a table such as {{ os = ["linux"] }}, got {type(raw).__name__}')]
    faults: list[tuple[str, str]] = []
    values: dict[str, tuple[str, ...]] = {}
    for key, value in raw.items():
        if key not in VALUES:
            faults.append((str(key), f"unknown condition{did_you_mean(str(key), VALUES)}"))
            continue
        values[key], wrong = _parse_values(key, value)
        faults.extend((key, message) for message in wrong)
    return When(**values), faults


def _parse_values(key: str, value: Any) -> tuple[tuple[str, ...], list[str]]:
    items: Iterable[Any] = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        return (), ["expected a string or a list of strings"]
    names = tuple(normal_platform(item) for item in items)
    # Generated recipes write `linux_family = ""` for "says nothing".
    names = tuple(name for name in names if name)
    known = VALUES[key]
    wrong = [f"unknown value {name!r}{did_you_mean(name, known)}" for name in names if name not in known]
    return names, wrong


def normal_platform(name: str) -> str:
    """A name of an architecture, alone or behind an os, as we write it."""
    os, slash, arch = name.rpartition("/")
    return f"{os}{slash}{_ALIASES.get(arch, arch)}"


def _allows(accepted: tuple[str, ...], actual: str | None) -> bool:
    return not accepted or actual in accepted
