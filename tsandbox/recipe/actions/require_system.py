"""`require_system`: a command that the system must have, and what installs it."""

from collections.abc import Mapping
from typing import Any, Self, cast

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.base import Action
from tsandbox.recipe.actions.checks import VERSION_CHECK, RequireCommand, version_check_faults
from tsandbox.recipe.actions.packages import InstallPackages
from tsandbox.recipe.actions.words import PRIMITIVES, Primitive
from tsandbox.recipe.decode import Fault
from tsandbox.recipe.near import did_you_mean

_MANAGERS = {word: kind for word, kind in PRIMITIVES.items() if issubclass(kind, InstallPackages)}
_GUIDE_FAULT = Fault(
    ("install_guide",),
    "free text cannot be built; `tsandbox migrate --write FILE` turns it into packages or primitives",
)


class RequireSystem(Action, frozen=True, kw_only=True):
    """`packages` by package manager, or `primitives` in order, never both."""

    word = "require_system"
    checks = {**VERSION_CHECK, "note": grammar.prose}

    command: str | None = None
    packages: dict[str, Any] | None = None
    primitives: tuple[Any, ...] | None = None
    version_flag: str | None = None
    version_regex: str | None = None
    min_version: str | None = None
    note: str | None = None

    @classmethod
    def read(cls, raw: object) -> tuple[Self | None, list[Fault]]:
        guide_faults = []
        if isinstance(raw, Mapping) and "install_guide" in raw:
            guide_faults = [_GUIDE_FAULT]
            raw = {key: value for key, value in raw.items() if key != "install_guide"}
        action, faults = super().read(raw)
        faults = guide_faults + faults
        return (None if faults else action), faults

    def more_faults(self) -> list[Fault]:
        faults = version_check_faults(self.version_flag, self.version_regex, self.min_version)
        if self.packages is not None and self.primitives is not None:
            faults.append(Fault(("primitives",), "give packages or primitives, not both"))
        if self.command is None and self.packages is None and self.primitives is None:
            faults.append(Fault((), "needs a command, packages or primitives"))
        return faults + self._read_packages()[1] + self._read_primitives()[1]

    def by_manager(self) -> dict[str, InstallPackages]:
        return self._read_packages()[0]

    def in_order(self) -> list[Primitive]:
        return self._read_primitives()[0]

    def check(self) -> RequireCommand | None:
        """The command's presence and version, as the step that checks it."""
        if self.command is None:
            return None
        return RequireCommand(
            command=self.command,
            version_flag=self.version_flag,
            version_regex=self.version_regex,
            min_version=self.min_version,
        )

    def _read_packages(self) -> tuple[dict[str, InstallPackages], list[Fault]]:
        found: dict[str, InstallPackages] = {}
        faults: list[Fault] = []
        for manager, value in (self.packages or {}).items():
            kind = _MANAGERS.get(manager)
            if kind is None:
                faults.append(
                    Fault(
                        ("packages", manager),
                        f"unknown package manager {manager!r}{did_you_mean(manager, _MANAGERS)}",
                    )
                )
                continue
            action, wrong = kind.read(value)
            faults += [Fault(("packages", manager, *_below("packages", fault.path)), fault.message) for fault in wrong]
            if action is not None:
                found[manager] = action
        return found, faults

    def _read_primitives(self) -> tuple[list[Primitive], list[Fault]]:
        found: list[Primitive] = []
        faults: list[Fault] = []
        for i, raw in enumerate(self.primitives or ()):
            action, wrong = _read_primitive(raw)
            faults += [Fault(("primitives", i, *fault.path), fault.message) for fault in wrong]
            if action is not None:
                found.append(action)
        return found, faults

    def describe(self) -> str:
        return f"require {self.command} on the system" if self.command else "prepare the system"


def _read_primitive(raw: object) -> tuple[Primitive | None, list[Fault]]:
    if not isinstance(raw, Mapping) or len(raw) != 1:
        return None, [Fault((), 'each primitive is a table with one word, such as { apt = ["curl"] }')]
    [(word, value)] = raw.items()
    kind = PRIMITIVES.get(word)
    if kind is None:
        return None, [Fault((str(word),), f"unknown primitive {word!r}{did_you_mean(str(word), PRIMITIVES)}")]
    if word == "group_add" and isinstance(value, str):
        value = {"group": value}
    action, faults = kind.read(value)
    shorthand = kind.shorthand if not isinstance(value, Mapping) else None
    return cast("Primitive | None", action), [
        Fault((word, *_below(shorthand, fault.path)), fault.message) for fault in faults
    ]


def _below(shorthand: str | None, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A path as the author wrote it: a bare value has no field name above its elements."""
    return path[1:] if shorthand is not None and path[:1] == (shorthand,) else path
