"""What every action has in common."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from tsandbox.recipe.decode import Fault, Path, convert
from tsandbox.recipe.grammar import Check
from tsandbox.recipe.when import ALWAYS, When


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a step does. Subclasses add their fields, and a grammar for each of them."""

    # The word for it inside `require_system`, and the field that a bare value there stands for.
    word: ClassVar[str] = ""
    shorthand: ClassVar[str | None] = None
    # Other systems' names for our fields.
    renamed: ClassVar[Mapping[str, str]] = {}
    checks: ClassVar[Mapping[str, Check]] = {}
    # A step applies only where this holds too, whatever its own `when` says.
    implicit: ClassVar[When] = ALWAYS

    @classmethod
    def read(cls, raw: object) -> tuple[Self | None, list[Fault]]:
        """The action from its parameters, or every fault in them."""
        if not isinstance(raw, Mapping) and cls.shorthand is not None:
            raw = {cls.shorthand: raw}
        if isinstance(raw, Mapping) and cls.renamed:
            raw = {cls.renamed.get(key, key): value for key, value in raw.items()}
        action, faults = convert(raw, cls)
        if isinstance(raw, Mapping):
            faults += cls._grammar_faults(raw)
        if action is not None:
            faults += action.more_faults()
        return (None if faults else action), faults

    @classmethod
    def _grammar_faults(cls, raw: Mapping[str, Any]) -> list[Fault]:
        # Checked as written, so that a fault in one field does not hide those of the others.
        faults = []
        for field, check in cls.checks.items():
            value = raw.get(field)
            items: list[tuple[Path, str]] = [((field,), value)] if isinstance(value, str) else _elements(field, value)
            faults += [Fault(path, message) for path, text in items if (message := check(text))]
        return faults

    def more_faults(self) -> list[Fault]:
        """What no single field can tell: fields that need each other."""
        return []

    def applies_implicitly(self, when: When) -> When:  # noqa: ARG002 - brew decides by it
        return self.implicit

    def describe(self) -> str:
        """One line for people."""
        raise NotImplementedError

    def as_primitive(self) -> dict[str, Any]:
        """The action as `require_system` writes it, in its shortest form."""
        fields = msgspec.to_builtins(self)
        if self.shorthand is not None and set(fields) <= {self.shorthand}:
            return {self.word: fields.get(self.shorthand)}
        return {self.word: fields}


def _elements(field: str, value: object) -> list[tuple[Path, str]]:
    if not isinstance(value, list | tuple):
        return []
    return [((field, i), item) for i, item in enumerate(value) if isinstance(item, str)]
