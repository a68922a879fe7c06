"""A step's parameters, read with their types: what a recipe got wrong is said by name."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tsandbox.runner.failures import StepFailed


class Pair(NamedTuple):
    source: str
    target: str | None


class Params:
    def __init__(self, action: str, values: Mapping[str, Any]) -> None:
        self._action = action
        self._values = values

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, *names: str) -> str:
        """The first of `names` that is there: some parameters have more than one name."""
        found = self.optional(*names)
        if not found:
            raise self._wrong(names[0], "is needed")
        return found

    def optional(self, *names: str) -> str | None:
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str):
                return value
            if value is not None:
                raise self._wrong(name, "must be a string")
        return None

    def texts(self, *names: str) -> list[str]:
        """A list of strings; a single string counts as a list of one, and nothing as an empty list."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str):
                return [value]
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                return value
            if value is not None:
                raise self._wrong(name, "must be a list of strings")
        return []

    def number(self, name: str, default: int) -> int:
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, "must be a whole number, zero or more")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "must be true or false")
        return value

    def table(self, name: str) -> Mapping[str, Any]:
        value = self._values.get(name) or {}
        if not isinstance(value, dict):
            raise self._wrong(name, "must be a table")
        return value

    def tables(self, name: str) -> list[dict[str, Any]]:
        value = self._values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(name, "must be a list of tables")
        return value

    def pairs(self, name: str) -> Iterator[Pair]:
        """`"bin/foo"` or `{ src = "foo-linux", dest = "bin/foo" }`, in any mixture."""
        value = self._values.get(name) or []
        for item in [value] if isinstance(value, str) else value:
            if isinstance(item, str):
                yield Pair(item, None)
            elif isinstance(item, dict) and isinstance(item.get("src"), str):
                yield Pair(item["src"], item.get("dest"))
            else:
                raise self._wrong(name, "must hold paths or { src, dest } pairs")

    def _wrong(self, name: str, what: str) -> StepFailed:
        return StepFailed("invalid", f"{self._action}: {name!r} {what}", param=name)
